import torch
from torch import nn
import torch.nn.functional as F


class Double(nn.Sequential):
    def __init__(self, inside, outside):
        layers = []
        for a, b in ((inside, outside), (outside, outside)):
            layers += [nn.Conv3d(a, b, 3, padding=1, bias=False), nn.BatchNorm3d(b), nn.LeakyReLU(0.01, inplace=True)]
        super().__init__(*layers)


class VolumeNet(nn.Module):
    """A small U-Net over volumes with two steps down."""

    def __init__(self, outputs, width=8):
        super().__init__()
        self.enter = Double(1, width)
        self.down = Double(width, 2 * width)
        self.deep = Double(2 * width, 4 * width)
        self.rise = nn.ConvTranspose3d(4 * width, 2 * width, 2, stride=2)
        self.up = Double(4 * width, 2 * width)
        self.surface = nn.ConvTranspose3d(2 * width, width, 2, stride=2)
        self.leave = Double(2 * width, width)
        self.out = nn.Conv3d(width, outputs, 1)

    def forward(self, x):
        a = self.enter(x)
        b = self.down(F.max_pool3d(a, 2))
        c = self.deep(F.max_pool3d(b, 2))
        b = self.up(torch.cat([b, self.rise(c)], 1))
        a = self.leave(torch.cat([a, self.surface(b)], 1))
        return self.out(a)
