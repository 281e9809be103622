import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.before = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.after = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.before(x)).chunk(3, dim=-1)
        q, k, v = (t.reshape(b, -1, self.heads, d // self.heads).transpose(1, 2) for t in (q, k, v))
        mixed = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, -1, d)
        x = x + self.out(mixed)
        return x + self.down(F.gelu(self.up(self.after(x))))


class FlightEncoder(nn.Module):
    """Summary token in front of the flight; bearing (unit vector, concentration) and log distance left."""

    def __init__(self, features, length, width=64, depth=3, heads=4):
        super().__init__()
        self.embed = nn.Conv1d(features, width, 3, padding=1)
        self.summary = nn.Parameter(torch.zeros(1, 1, width))
        self.place = nn.Parameter(torch.randn(1, length + 1, width) * 0.02)
        self.blocks = nn.ModuleList(Block(width, heads) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.bearing = nn.Linear(width, 2)
        self.kappa = nn.Linear(width, 1)
        self.distance = nn.Linear(width, 1)

    def forward(self, track):
        x = self.embed(track.transpose(1, 2)).transpose(1, 2)
        x = torch.cat([self.summary.expand(len(x), -1, -1), x], dim=1) + self.place
        for block in self.blocks:
            x = block(x)
        token = self.norm(x[:, 0])
        way = F.normalize(self.bearing(token), dim=-1)
        return way, F.softplus(self.kappa(token)).squeeze(-1) + 1e-3, self.distance(token).squeeze(-1)


def flight_loss(way, kappa, distance, left, far):
    agree = way[:, 0] * left.cos() + way[:, 1] * left.sin()
    log_i0 = torch.log(torch.special.i0e(kappa)) + kappa
    return (log_i0 - kappa * agree).mean() + 0.5 * F.mse_loss(distance, far)
