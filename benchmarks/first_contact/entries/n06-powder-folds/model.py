import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, width)
        self.down = nn.Linear(width, width)

    def forward(self, x):
        return x + self.down(torch.relu_(self.up(self.norm(x))))


class Calibration(nn.Module):
    """Spectrum in, mean and log variance of each constituent out."""

    def __init__(self, inputs, outputs, width=384, depth=2):
        super().__init__()
        self.enter = nn.Linear(inputs, width)
        self.blocks = nn.Sequential(*[Residual(width) for _ in range(depth)])
        self.leave = nn.Linear(width, 2 * outputs)

    def forward(self, x):
        mean, logvar = self.leave(self.blocks(self.enter(x))).chunk(2, dim=1)
        return mean, logvar.clamp(-8, 4)
