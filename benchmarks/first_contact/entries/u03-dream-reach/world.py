"""Recurrent state-space model: a deterministic and a stochastic part of the state."""
from typing import NamedTuple

import torch
from torch import nn
import torch.nn.functional as F


class State(NamedTuple):
    memory: torch.Tensor
    mean: torch.Tensor
    std: torch.Tensor
    sample: torch.Tensor

    @property
    def features(self):
        return torch.cat([self.memory, self.sample], dim=-1)

    def detach(self):
        return State(*(part.detach() for part in self))


class Outlook(NamedTuple):
    """What the model says of a state."""
    picture: torch.Tensor
    reward: torch.Tensor


def mlp(inputs, hidden, outputs, layers=2):
    sizes = [inputs] + [hidden] * layers
    body = []
    for a, b in zip(sizes, sizes[1:]):
        body += [nn.Linear(a, b), nn.ELU()]
    return nn.Sequential(*body, nn.Linear(sizes[-1], outputs))


class WorldModel(nn.Module):
    def __init__(self, pixels, actions, memory=160, latent=24, hidden=192):
        super().__init__()
        self.memory, self.latent = memory, latent
        self.encoder = mlp(pixels, hidden, hidden, layers=1)
        self.enter = nn.Linear(latent + actions, memory)
        self.cell = nn.GRUCell(memory, memory)
        self.prior_head = mlp(memory, hidden, 2 * latent, layers=1)
        self.posterior_head = mlp(memory + hidden, hidden, 2 * latent, layers=1)
        self.decoder = mlp(memory + latent, hidden, pixels, layers=2)
        self.reward_head = mlp(memory + latent, hidden, 1, layers=1)

    def start(self, batch):
        zeros = torch.zeros(batch, self.latent)
        return State(torch.zeros(batch, self.memory), zeros, torch.ones_like(zeros), zeros)

    @staticmethod
    def draw(memory, numbers):
        mean, raw = numbers.chunk(2, dim=-1)
        std = F.softplus(raw) + 0.1
        return State(memory, mean, std, mean + std * torch.randn_like(std))

    def recall(self, state, action):
        entered = F.elu(self.enter(torch.cat([state.sample, action], dim=-1)))
        return self.cell(entered, state.memory)

    def observe(self, state, action, code):
        """One step with a picture in view."""
        memory = self.recall(state, action)
        return self.draw(memory, self.posterior_head(torch.cat([memory, code], dim=-1)))

    def dream(self, state, action):
        """One step without a picture: the next state and what it would look like."""
        memory = self.recall(state, action)
        state = self.draw(memory, self.prior_head(memory))
        return state, self.outlook(state.features)

    def outlook(self, features):
        return Outlook(self.decoder(features), self.reward_head(features).squeeze(-1))

    def loss(self, pictures, actions, rewards, free=1.0):
        """Sequences (batch, time, ...); an action leads to the picture at the same place."""
        codes = self.encoder(pictures)
        state = self.start(len(pictures))
        posteriors = []
        for t in range(pictures.size(1)):
            state = self.observe(state, actions[:, t], codes[:, t])
            posteriors.append(state)
        posterior = State(*(torch.stack(part, 1) for part in zip(*posteriors)))
        prior = self.draw(posterior.memory, self.prior_head(posterior.memory))
        seen = self.outlook(posterior.features)
        picture_loss = 0.5 * (seen.picture - pictures).square().sum(-1).mean()
        reward_loss = 0.5 * (seen.reward - rewards).square().mean()
        ratio = (posterior.std.square() + (posterior.mean - prior.mean).square()) / prior.std.square()
        divergence = 0.5 * (ratio - 1 - 2 * (posterior.std.log() - prior.std.log())).sum(-1).mean()
        total = picture_loss + 10 * reward_loss + divergence.clamp(min=free)
        return total, posterior
