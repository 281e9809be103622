import torch
from torch import nn


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(a, b), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


class KoopmanAutoencoder(nn.Module):
    """Lifts sensor frames to coordinates in which the motion is linear."""

    def __init__(self, sensors=192, width=448, latent=24):
        super().__init__()
        self.encode = mlp(sensors, width, width, latent)
        self.decode = mlp(latent, width, width, sensors)
        self.advance = nn.Parameter(torch.eye(latent) + 0.01 * torch.randn(latent, latent))

    def rollout(self, start, steps):
        states, state = [], start
        for _ in range(steps):
            state = state @ self.advance
            states.append(state)
        return torch.stack(states, 1)

    def forward(self, window):
        latent = self.encode(window)
        predicted = self.rollout(latent[:, 0], window.shape[1] - 1)
        frames = self.decode(torch.cat([latent, predicted], 1))
        rebuilt, forecast = frames.split([window.shape[1], window.shape[1] - 1], 1)
        return latent, predicted, rebuilt, forecast

    @torch.no_grad()
    def spectral_radius(self):
        return torch.linalg.eigvals(self.advance).abs().max().item()
