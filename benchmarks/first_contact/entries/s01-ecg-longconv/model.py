"""Sequence classifier whose mixing layers are convolutions as long as the signal, with an implicit filter."""
import math

import torch
import torch.nn.functional as F
from torch import nn


class ImplicitFilter(nn.Module):
    """A small network maps the position to the value of the filter, under a decaying window."""

    def __init__(self, channels, length, bands=8, width=32, fast=0.01, slow=0.6):
        super().__init__()
        t = torch.linspace(0, 1, length)[:, None]
        freq = 2 * math.pi * torch.arange(1, bands + 1)
        self.register_buffer("position", torch.cat([t, torch.sin(t * freq), torch.cos(t * freq)], dim=1))
        rates = torch.logspace(math.log10(1 / slow), math.log10(1 / fast), channels)
        self.register_buffer("window", torch.exp(-t * rates).T.contiguous())
        self.net = nn.Sequential(nn.Linear(2 * bands + 1, width), nn.SiLU(), nn.Linear(width, width), nn.SiLU(), nn.Linear(width, channels))

    def forward(self):
        return self.net(self.position).T * self.window / 8


class LongConv(nn.Module):
    def __init__(self, channels, length):
        super().__init__()
        self.filter = ImplicitFilter(channels, length)
        self.skip = nn.Parameter(torch.randn(channels, 1) * 0.1)

    def forward(self, x):
        length = x.shape[-1]
        # linear, not circular, convolution: both are padded to the full length of the result
        size = 2 * length - 1
        k = torch.fft.rfft(self.filter(), n=size)
        u = torch.fft.rfft(x, n=size)
        y = torch.fft.irfft(u * k, n=size)[..., :length]
        return torch.addcmul(y, x, self.skip)


class Block(nn.Module):
    def __init__(self, channels, length):
        super().__init__()
        self.norm = nn.GroupNorm(1, channels)
        self.enter = nn.Conv1d(channels, 2 * channels, 1)
        self.mix = LongConv(channels, length)
        self.leave = nn.Conv1d(channels, channels, 1)

    def forward(self, x):
        value, gate = self.enter(self.norm(x)).chunk(2, dim=1)
        return x + self.leave(self.mix(value) * F.silu(gate))


class EcgNet(nn.Module):
    def __init__(self, classes, length, channels=32, layers=2):
        super().__init__()
        self.stem = nn.Conv1d(1, channels, 7, padding=3)
        self.blocks = nn.Sequential(*[Block(channels, length) for _ in range(layers)])
        self.head = nn.Sequential(nn.LayerNorm(channels), nn.Linear(channels, classes))

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)).mean(-1))
