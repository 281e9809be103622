import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.ff = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v)
        x = x + self.out(y.transpose(1, 2).reshape(b, t, c))
        return x + self.ff(self.norm2(x))


class HaulEncoder(nn.Module):
    """Echogram (depth bins x frequencies) and station covariates -> one vector a depth bin."""

    def __init__(self, bins, freqs, covariates, width=160, depth=3, heads=4):
        super().__init__()
        self.lift = nn.Linear(freqs, width)
        self.bin = nn.Parameter(0.02 * torch.randn(bins, width))
        self.station = nn.Sequential(nn.Linear(covariates, width), nn.SiLU(), nn.Linear(width, width))
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)

    def forward(self, echo, station):
        x = self.lift(echo) + self.bin + self.station(station).unsqueeze(1)
        for block in self.blocks:
            x = block(x)
        return self.norm(x)
