import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def time_features(t, dim):
    freqs = torch.exp(-math.log(10000.0) * torch.arange(dim // 2) / (dim // 2))
    angles = t.float().unsqueeze(1) * freqs
    return torch.cat([angles.sin(), angles.cos()], dim=1)


class ResBlock(nn.Module):
    def __init__(self, cin, cout, tdim):
        super().__init__()
        self.norm1, self.conv1 = nn.GroupNorm(8, cin), nn.Conv2d(cin, cout, 3, padding=1)
        self.time = nn.Linear(tdim, cout)
        self.norm2, self.conv2 = nn.GroupNorm(8, cout), nn.Conv2d(cout, cout, 3, padding=1)
        self.skip = nn.Identity() if cin == cout else nn.Conv2d(cin, cout, 1)

    def forward(self, x, emb):
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.time(emb)[:, :, None, None]
        h = self.conv2(F.silu(self.norm2(h)))
        return h + self.skip(x)


class UNet(nn.Module):
    def __init__(self, width=32, tdim=96):
        super().__init__()
        self.tdim = tdim
        self.embed = nn.Sequential(nn.Linear(tdim, tdim), nn.SiLU(), nn.Linear(tdim, tdim), nn.SiLU())
        self.inp = nn.Conv2d(1, width, 3, padding=1)
        self.down1 = ResBlock(width, width, tdim)
        self.pool1 = nn.Conv2d(width, 2 * width, 3, 2, 1)
        self.down2 = ResBlock(2 * width, 2 * width, tdim)
        self.pool2 = nn.Conv2d(2 * width, 2 * width, 3, 2, 1)
        self.mid = ResBlock(2 * width, 2 * width, tdim)
        self.up2 = ResBlock(4 * width, 2 * width, tdim)
        self.up1 = ResBlock(3 * width, width, tdim)
        self.norm, self.out = nn.GroupNorm(8, width), nn.Conv2d(width, 1, 3, padding=1)

    def forward(self, x, t):
        emb = self.embed(time_features(t, self.tdim))
        h1 = self.down1(self.inp(x), emb)
        h2 = self.down2(self.pool1(h1), emb)
        h = self.mid(self.pool2(h2), emb)
        h = self.up2(torch.cat([F.interpolate(h, scale_factor=2.0), h2], 1), emb)
        h = self.up1(torch.cat([F.interpolate(h, scale_factor=2.0), h1], 1), emb)
        return self.out(F.silu(self.norm(h)))
