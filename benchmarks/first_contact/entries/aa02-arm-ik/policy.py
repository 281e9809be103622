import torch
from torch import nn


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.inner = nn.Linear(width, width)
        self.outer = nn.Linear(width, width)

    def forward(self, x):
        return x + self.outer(torch.relu_(self.inner(self.norm(x))))


class PosePolicy(nn.Module):
    """Tool pose -> joint angles within the limits."""

    def __init__(self, limits, width=512, blocks=3):
        super().__init__()
        self.register_buffer("limits", limits.clone())
        self.stem = nn.Linear(12, width)
        self.blocks = nn.Sequential(*[Residual(width) for _ in range(blocks)])
        self.out = nn.Linear(width, len(limits))

    def forward(self, pose):
        x = pose[:, :3].flatten(1)
        return self.limits * torch.tanh(self.out(self.blocks(self.stem(x))))
