import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import spectral_norm as sn


class Down(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.conv = sn(nn.Conv2d(cin, cout, 3, padding=1))
        self.act = nn.SiLU()
        self.pool = nn.AvgPool2d(2)

    def forward(self, x):
        return self.pool(self.act(self.conv(x)))


class Energy(nn.Module):
    """E(x), one number a plate; low where the plate looks real."""

    def __init__(self, w):
        super().__init__()
        self.stem = sn(nn.Conv2d(1, w, 5, stride=2, padding=2))
        self.act = nn.SiLU()
        self.body = nn.Sequential(Down(w, 2 * w), Down(2 * w, 4 * w), Down(4 * w, 8 * w))
        self.out = sn(nn.Linear(8 * w, 1))

    def forward(self, x):
        h = self.body(self.act(self.stem(x)))
        return self.out(h.sum((2, 3))).squeeze(1)
