import torch
from torch import nn
import torch.nn.functional as F


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.a = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.na = nn.BatchNorm2d(width)
        self.b = nn.Conv2d(width, width, 3, padding=1, bias=False)
        self.nb = nn.BatchNorm2d(width)

    def forward(self, x):
        y = F.relu(self.na(self.a(x)))
        return F.relu(x + self.nb(self.b(y)))


class Down(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(
            nn.Conv2d(cin, cout, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(cout),
            nn.ReLU(inplace=True),
            Residual(cout),
        )


class Trunk(nn.Module):
    def __init__(self, cin, widths=(32, 64, 128)):
        super().__init__()
        chain = (cin,) + tuple(widths)
        self.levels = nn.ModuleList(Down(a, b) for a, b in zip(chain, chain[1:]))

    def forward(self, x):
        maps = []
        for level in self.levels:
            x = level(x)
            maps.append(x)
        return maps


class Head(nn.Module):
    """Semantic FPN head: all levels at the finest grid, summed, one more convolution, logits at full size."""

    def __init__(self, widths, dim, cout):
        super().__init__()
        self.lateral = nn.ModuleList(nn.Conv2d(w, dim, 1) for w in widths)
        self.mix = nn.Sequential(nn.BatchNorm2d(dim), nn.ReLU(inplace=True),
                                 nn.Conv2d(dim, 24, 3, padding=1), nn.ReLU(inplace=True))
        self.out = nn.Conv2d(24, cout, 1)

    def forward(self, maps, size):
        grid = maps[0].shape[-2:]
        total = 0
        for conv, level in zip(self.lateral, maps):
            if level.shape[-2:] != grid:
                level = F.interpolate(level, size=grid, mode="bilinear", align_corners=False)
            total = total + conv(level)
        return F.interpolate(self.out(self.mix(total)), size=size, mode="bilinear", align_corners=False)


class ContrailNet(nn.Module):
    def __init__(self, cin=3, widths=(32, 64, 128), dim=64):
        super().__init__()
        self.trunk = Trunk(cin, widths)
        self.cover = Head(widths, dim, 1)
        self.heading = Head(widths, dim, 2)

    def forward(self, image):
        maps = self.trunk(image)
        size = image.shape[-2:]
        return self.cover(maps, size).squeeze(1), self.heading(maps, size)
