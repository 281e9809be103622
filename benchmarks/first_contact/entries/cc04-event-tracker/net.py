import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, n, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d)
        x = x + self.proj(a)
        return x + self.down(F.relu(self.up(self.n2(x))))


class Tracker(nn.Module):
    """Patch transformer on time surfaces; predicts position and velocity."""

    def __init__(self, channels, size, patch=8, dim=96, depth=2, heads=4):
        super().__init__()
        self.patch = patch
        tokens = (size // patch) ** 2
        self.embed = nn.Linear(channels * patch * patch, dim)
        self.place = nn.Parameter(0.1 * torch.randn(tokens, dim))
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.gate = nn.Linear(dim, 1)
        self.out = nn.Linear(dim, 4)

    def forward(self, surface):
        b, c, h, w = surface.shape
        p = self.patch
        x = surface.view(b, c, h // p, p, w // p, p).permute(0, 2, 4, 1, 3, 5).reshape(b, -1, c * p * p)
        x = self.embed(x) + self.place
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        weight = torch.softmax(self.gate(x), 1)
        return self.out((weight * x).sum(1))
