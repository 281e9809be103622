from dataclasses import dataclass

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint


@dataclass
class Config:
    size: int = 64
    patch: int = 4
    fields: int = 3
    dim: int = 96
    heads: int = 4
    depth: int = 3
    rematerialize: bool = True


class Block(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.norm1 = nn.LayerNorm(c.dim)
        self.attention = nn.MultiheadAttention(c.dim, c.heads, batch_first=True)
        self.norm2 = nn.LayerNorm(c.dim)
        self.feed = nn.Sequential(nn.Linear(c.dim, 3 * c.dim), nn.SiLU(), nn.Linear(3 * c.dim, c.dim))

    def forward(self, x):
        h = self.norm1(x)
        mixed, _ = self.attention(h, h, h)
        x = x + mixed
        return x + self.feed(self.norm2(x))


class Emulator(nn.Module):
    """Patches of the present state in, the change of the tracer out."""

    def __init__(self, c):
        super().__init__()
        self.c = c
        self.side = c.size // c.patch
        self.enter = nn.Linear(c.fields * c.patch ** 2, c.dim)
        self.places = nn.Parameter(torch.randn(self.side ** 2, c.dim) * 0.02)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.depth))
        self.norm = nn.LayerNorm(c.dim)
        self.leave = nn.Linear(c.dim, c.patch ** 2)
        nn.init.zeros_(self.leave.weight)
        nn.init.zeros_(self.leave.bias)

    def cut(self, state):
        n, p, s = len(state), self.c.patch, self.side
        return state.view(n, -1, s, p, s, p).permute(0, 2, 4, 1, 3, 5).reshape(n, s * s, -1)

    def join(self, patches):
        n, p, s = len(patches), self.c.patch, self.side
        return patches.view(n, s, s, 1, p, p).permute(0, 3, 1, 4, 2, 5).reshape(n, 1, s * p, s * p)

    def forward(self, state):
        x = self.enter(self.cut(state)) + self.places
        for block in self.blocks:
            if self.c.rematerialize and self.training:
                x = checkpoint(block, x, use_reentrant=False)
            else:
                x = block(x)
        return state[:, :1] + self.join(self.leave(self.norm(x)))
