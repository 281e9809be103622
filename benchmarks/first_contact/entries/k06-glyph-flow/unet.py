import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def fourier(t, dim):
    freq = torch.exp(torch.linspace(0, math.log(200.0), dim // 2, device=t.device))
    arg = t[:, None] * freq
    return torch.cat([arg.sin(), arg.cos()], 1)


class ResBlock(nn.Module):
    def __init__(self, i, o, emb):
        super().__init__()
        self.n1, self.n2 = nn.GroupNorm(8, i), nn.GroupNorm(8, o)
        self.c1, self.c2 = nn.Conv2d(i, o, 3, padding=1), nn.Conv2d(o, o, 3, padding=1)
        self.emb = nn.Linear(emb, o)
        self.skip = nn.Conv2d(i, o, 1) if i != o else nn.Identity()
        nn.init.zeros_(self.c2.weight)

    def forward(self, x, e):
        h = self.c1(F.silu(self.n1(x))) + self.emb(e)[:, :, None, None]
        return self.skip(x) + self.c2(F.silu(self.n2(h)))


class VelocityNet(nn.Module):
    """small U-Net v(x, t, class); class index `classes` stands for 'no class'"""

    def __init__(self, classes=8, width=24, emb=64):
        super().__init__()
        self.classes, self.emb_dim = classes, emb
        self.time = nn.Sequential(nn.Linear(emb, emb), nn.SiLU(), nn.Linear(emb, emb))
        self.label = nn.Embedding(classes + 1, emb)
        w = width
        self.inp = nn.Conv2d(1, w, 3, padding=1)
        self.d1, self.d2 = ResBlock(w, w, emb), ResBlock(w, 2 * w, emb)
        self.m1, self.m2 = ResBlock(2 * w, 2 * w, emb), ResBlock(2 * w, 2 * w, emb)
        self.u2, self.u1 = ResBlock(4 * w, 2 * w, emb), ResBlock(3 * w, w, emb)
        self.norm, self.out = nn.GroupNorm(8, w), nn.Conv2d(w, 1, 3, padding=1)

    def forward(self, x, t, y):
        e = F.silu(self.time(fourier(t, self.emb_dim)) + self.label(y))
        a = self.d1(self.inp(x), e)
        b = self.d2(F.avg_pool2d(a, 2), e)
        m = self.m2(self.m1(F.avg_pool2d(b, 2), e), e)
        h = self.u2(torch.cat([F.interpolate(m, scale_factor=2.0), b], 1), e)
        h = self.u1(torch.cat([F.interpolate(h, scale_factor=2.0), a], 1), e)
        return self.out(F.silu(self.norm(h)))
