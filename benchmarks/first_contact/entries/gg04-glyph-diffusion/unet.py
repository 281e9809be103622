import math

import torch
import torch.nn.functional as F
from torch import nn


def timestep_embedding(t, dim):
    freqs = torch.exp(-math.log(10000) * torch.arange(dim // 2, device=t.device) / (dim // 2))
    angles = t.float()[:, None] * freqs
    return torch.cat([angles.cos(), angles.sin()], 1)


class ResBlock(nn.Module):
    def __init__(self, cin, cout, emb):
        super().__init__()
        self.norm1 = nn.GroupNorm(8, cin)
        self.conv1 = nn.Conv2d(cin, cout, 3, padding=1)
        self.emb = nn.Linear(emb, cout)
        self.norm2 = nn.GroupNorm(8, cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, padding=1)
        self.skip = nn.Conv2d(cin, cout, 1) if cin != cout else nn.Identity()

    def forward(self, x, emb):
        h = self.conv1(F.silu(self.norm1(x)))
        h = h + self.emb(emb)[:, :, None, None]
        h = self.conv2(F.silu(self.norm2(h)))
        return h + self.skip(x)


class SelfAttention(nn.Module):
    def __init__(self, channels, heads=4):
        super().__init__()
        self.heads = heads
        self.norm = nn.GroupNorm(8, channels)
        self.qkv = nn.Conv2d(channels, 3 * channels, 1)
        self.out = nn.Conv2d(channels, channels, 1)

    def forward(self, x):
        b, c, h, w = x.shape
        qkv = self.qkv(self.norm(x)).flatten(2).view(b, 3, self.heads, c // self.heads, h * w).transpose(-1, -2)
        y = F.scaled_dot_product_attention(*qkv.unbind(1))
        return x + self.out(y.transpose(-1, -2).reshape(b, c, h, w))


class UNet(nn.Module):
    def __init__(self, width=64, classes=10):
        super().__init__()
        emb = 4 * width
        self.width = width
        self.time = nn.Sequential(nn.Linear(width, emb), nn.SiLU(), nn.Linear(emb, emb))
        self.label = nn.Embedding(classes + 1, emb)
        self.stem = nn.Conv2d(1, width, 3, padding=1)
        self.down1 = ResBlock(width, width, emb)
        self.pool1 = nn.Conv2d(width, width, 3, stride=2, padding=1)
        self.down2 = ResBlock(width, 2 * width, emb)
        self.pool2 = nn.Conv2d(2 * width, 2 * width, 3, stride=2, padding=1)
        self.mid1 = ResBlock(2 * width, 2 * width, emb)
        self.attention = SelfAttention(2 * width)
        self.mid2 = ResBlock(2 * width, 2 * width, emb)
        self.up2 = ResBlock(4 * width, width, emb)
        self.up1 = ResBlock(2 * width, width, emb)
        self.head = nn.Sequential(nn.GroupNorm(8, width), nn.SiLU(), nn.Conv2d(width, 1, 3, padding=1))

    def forward(self, x, t, label):
        emb = F.silu(self.time(timestep_embedding(t, self.width)) + self.label(label))
        h1 = self.down1(self.stem(x), emb)
        h2 = self.down2(self.pool1(h1), emb)
        h = self.pool2(h2)
        h = self.mid2(self.attention(self.mid1(h, emb)), emb)
        h = self.up2(torch.cat([F.interpolate(h, scale_factor=2), h2], 1), emb)
        h = self.up1(torch.cat([F.interpolate(h, scale_factor=2), h1], 1), emb)
        return self.head(h)
