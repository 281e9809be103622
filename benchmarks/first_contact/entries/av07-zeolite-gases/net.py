import math

import torch
from torch import nn


class GaussianBasis(nn.Module):
    def __init__(self, n, reach):
        super().__init__()
        self.register_buffer("centre", torch.linspace(0, reach, n))
        self.gamma, self.reach = (n / reach) ** 2, reach

    def forward(self, dist):
        basis = torch.exp(-self.gamma * (dist[:, None] - self.centre) ** 2)
        cut = 0.5 * (torch.cos(dist.clamp(max=self.reach) * math.pi / self.reach) + 1)
        return basis * cut[:, None]


class Interaction(nn.Module):
    def __init__(self, width, n_basis, reach):
        super().__init__()
        self.basis = GaussianBasis(n_basis, reach)
        self.filter = nn.Linear(n_basis, width)
        self.send = nn.Linear(width, width, bias=False)
        self.take = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, width))

    def forward(self, h, src, dst, dist):
        w = self.filter(self.basis(dist))
        m = self.send(h)[src] * w
        agg = torch.zeros_like(h).index_add(0, dst, m)
        return h + self.take(agg)


class UptakeNet(nn.Module):
    def __init__(self, width=64, n_basis=96, depth=4, reach=6.0):
        super().__init__()
        self.atom = nn.Embedding(6, width)
        self.layers = nn.ModuleList(Interaction(width, n_basis, reach) for _ in range(depth))
        self.co2 = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))
        self.ch4 = nn.Sequential(nn.Linear(width, width), nn.SiLU(), nn.Linear(width, 2))

    def forward(self, g):
        h = self.atom(g.kinds)
        for layer in self.layers:
            h = layer(h, g.src, g.dst, g.dist)
        pooled = h.new_zeros(g.count, h.shape[1]).index_add(0, g.owner, h) / 50
        return self.co2(pooled), self.ch4(pooled)
