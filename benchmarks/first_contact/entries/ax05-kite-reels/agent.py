import math

import torch
from torch import nn

HALF_LOG_TAU = 0.5 * math.log(2 * math.pi)


def mlp(inside, width, outside, last):
    layers = nn.Sequential(nn.Linear(inside, width), nn.Tanh(), nn.Linear(width, width), nn.Tanh(), nn.Linear(width, outside))
    for layer in layers[::2]:
        nn.init.orthogonal_(layer.weight, math.sqrt(2))
        nn.init.zeros_(layer.bias)
    nn.init.orthogonal_(layers[-1].weight, last)
    return layers


class Agent(nn.Module):
    def __init__(self, observation, action, width):
        super().__init__()
        self.actor, self.critic = mlp(observation, width, action, 0.01), mlp(observation, width, 1, 1.0)
        self.log_std = nn.Parameter(torch.full((action,), -0.5))

    def log_prob(self, deviation):
        return (-0.5 * deviation * deviation - self.log_std - HALF_LOG_TAU).sum(-1)

    def evaluate(self, observation, action):
        deviation = (action - self.actor(observation)) * torch.exp(-self.log_std)
        return self.log_prob(deviation), self.critic(observation).squeeze(-1)

    def entropy(self):
        return (self.log_std + 0.5 + HALF_LOG_TAU).sum()


class Rollout:
    def __init__(self, length, count, observation, action):
        self.observations = torch.empty(length + 1, count, observation)
        self.actions = torch.empty(length, count, action)
        self.log_probs = torch.empty(length, count)
        self.rewards = torch.empty(length, count)
        self.going = torch.empty(length, count)

    @torch.no_grad()
    def fill(self, fleet, agent):
        std = agent.log_std.exp()
        noise = torch.randn_like(self.actions)
        self.observations[0] = fleet.observe()
        for t in range(len(self.actions)):
            torch.add(agent.actor(self.observations[t]), noise[t] * std, out=self.actions[t])
            self.observations[t + 1], self.rewards[t], done = fleet.step(self.actions[t])
            self.going[t] = ~done
        self.log_probs.copy_(agent.log_prob(noise))

    @torch.no_grad()
    def advantages(self, agent, gamma, lam):
        values = agent.critic(self.observations.flatten(0, 1)).view(self.observations.shape[:2])
        deltas = self.rewards + gamma * self.going * values[1:] - values[:-1]
        decay, running = gamma * lam * self.going, torch.zeros_like(values[0])
        out = torch.empty_like(deltas)
        for t in range(len(deltas) - 1, -1, -1):
            running = deltas[t] + decay[t] * running
            out[t] = running
        return out, out + values[:-1]
