import torch
import torch.nn as nn
import torch.nn.functional as F


class Perception(nn.Module):
    """Identity and Sobel filters, applied to every channel of the state."""

    def __init__(self, channels):
        super().__init__()
        ident = torch.tensor([[0.0, 0.0, 0.0], [0.0, 1.0, 0.0], [0.0, 0.0, 0.0]])
        dx = torch.tensor([[-1.0, 0.0, 1.0], [-2.0, 0.0, 2.0], [-1.0, 0.0, 1.0]]) / 8.0
        self.channels = channels
        self.register_buffer("kernels", torch.stack([ident, dx, dx.t()])[:, None])

    def forward(self, x):
        features = []
        for c in range(self.channels):
            features.append(F.conv2d(x[:, c:c + 1], self.kernels, padding=1))
        return torch.cat(features, dim=1)


class Automaton(nn.Module):
    def __init__(self, channels=12, hidden=64, fire_rate=0.5):
        super().__init__()
        self.channels = channels
        self.fire_rate = fire_rate
        self.perceive = Perception(channels)
        self.update = nn.Sequential(
            nn.Conv2d(3 * channels, hidden, 1),
            nn.ReLU(),
            nn.Conv2d(hidden, channels, 1, bias=False),
        )
        nn.init.zeros_(self.update[2].weight)

    @staticmethod
    def alive(x):
        return F.max_pool2d(x[:, 3:4], 3, stride=1, padding=1) > 0.1

    def step(self, x):
        before = self.alive(x)
        dx = self.update(self.perceive(x))
        fire = torch.rand(x.shape[0], 1, x.shape[2], x.shape[3], device=x.device) <= self.fire_rate
        x = x + dx * fire
        return x * (before & self.alive(x))

    def forward(self, x, steps):
        for _ in range(steps):
            x = self.step(x)
        return x
