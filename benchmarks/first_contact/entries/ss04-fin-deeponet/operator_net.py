import math

import torch
import torch.nn as nn


def mlp(sizes, activation):
    layers = []
    for a, b in zip(sizes[:-2], sizes[1:-1]):
        layers += [nn.Linear(a, b), activation()]
    return nn.Sequential(*layers, nn.Linear(sizes[-2], sizes[-1]))


class FourierFeatures(nn.Module):
    def __init__(self, dims, count, scale=1.5):
        super().__init__()
        self.register_buffer("freq", torch.randn(dims, count) * scale * math.pi)

    def forward(self, x):
        z = x @ self.freq
        return torch.cat([z.sin(), z.cos()], dim=-1)


class DeepONet(nn.Module):
    """Branch over the load sensors, trunk over the query points, which the whole batch shares."""

    def __init__(self, sensors, dims=2, width=640, basis=384, depth=4):
        super().__init__()
        self.features = FourierFeatures(dims, 64)
        self.branch = mlp([sensors] + [width] * depth + [basis], nn.ReLU)
        self.trunk = mlp([128] + [width] * depth + [basis], nn.ReLU)
        self.bias = nn.Parameter(torch.zeros(()))
        self.scale = basis ** -0.5

    def forward(self, load, points):
        coefficients = self.branch(load)
        basis = self.trunk(self.features(points))
        return torch.addmm(self.bias, coefficients, basis.t(), alpha=self.scale)
