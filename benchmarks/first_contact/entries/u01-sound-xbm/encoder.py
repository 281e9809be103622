import torch
from torch import nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width, expand=2):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, expand * width)
        self.down = nn.Linear(expand * width, width)

    def forward(self, x):
        return x + self.down(F.relu(self.up(self.norm(x))))


class ClipEncoder(nn.Module):
    """Groups of frames become tokens; pooled tokens become a unit vector."""

    def __init__(self, mels=32, frames=64, group=8, width=192, depth=2, dim=128):
        super().__init__()
        self.group = group
        self.stem = nn.Linear(mels * group, width)
        self.place = nn.Parameter(torch.zeros(frames // group, width))
        self.blocks = nn.Sequential(*[Block(width) for _ in range(depth)])
        self.head = nn.Linear(2 * width, dim)

    def forward(self, mel):
        tokens = mel.reshape(len(mel), mel.size(1) // self.group, -1)
        x = self.blocks(self.stem(tokens) + self.place)
        pooled = torch.cat([x.mean(1), x.amax(1)], dim=-1)
        return F.normalize(self.head(pooled), dim=-1)
