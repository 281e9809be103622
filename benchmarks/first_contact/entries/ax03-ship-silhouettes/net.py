import torch
from torch import nn
from torch.nn import functional as F


class Residual(nn.Module):
    def __init__(self, inside, outside, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(inside, outside, 3, stride, 1, bias=False)
        self.norm1 = nn.BatchNorm2d(outside)
        self.conv2 = nn.Conv2d(outside, outside, 3, 1, 1, bias=False)
        self.norm2 = nn.BatchNorm2d(outside)
        self.short = None
        if stride != 1 or inside != outside:
            self.short = nn.Sequential(nn.Conv2d(inside, outside, 1, stride, bias=False), nn.BatchNorm2d(outside))

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)), inplace=True)
        y = self.norm2(self.conv2(y))
        y += x if self.short is None else self.short(x)
        return F.relu(y, inplace=True)


class ShipNet(nn.Module):
    def __init__(self, classes, widths=(24, 48, 80)):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(1, widths[0], 5, 2, 2, bias=False), nn.BatchNorm2d(widths[0]), nn.ReLU(inplace=True))
        layers, inside = [], widths[0]
        for i, width in enumerate(widths):
            layers += [Residual(inside, width, 1 if i == 0 else 2), Residual(width, width, 1)]
            inside = width
        self.layers = nn.Sequential(*layers)
        self.head = nn.Linear(inside, classes)

    def forward(self, x):
        return self.head(self.layers(self.stem(x)).mean((2, 3)))
