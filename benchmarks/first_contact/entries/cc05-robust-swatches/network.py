"""Small residual network without batch norm: the statistics of clean and of
attacked images differ, and the two should not share running averages."""
import torch.nn.functional as F
from torch import nn


class Unit(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1)
        self.skip = nn.Conv2d(cin, cout, 1, stride)
        for conv, gain in ((self.conv1, 2.0), (self.conv2, 1.0), (self.skip, 1.0)):
            nn.init.normal_(conv.weight, std=(gain / conv.weight[0].numel()) ** 0.5)
            nn.init.zeros_(conv.bias)

    def forward(self, x):
        y = self.conv2(F.relu(self.conv1(x), inplace=True))
        return F.relu(y.add_(self.skip(x)), inplace=True)


class SwatchNet(nn.Module):
    def __init__(self, classes, widths=(16, 32, 64)):
        super().__init__()
        self.stem = nn.Conv2d(3, widths[0], 3, 1, 1)
        self.units = nn.Sequential(*[Unit(a, b, 2) for a, b in zip(widths, widths[1:])])
        self.head = nn.Linear(widths[-1], classes)

    def forward(self, x):
        x = F.relu(self.stem(4 * (x - 0.5)), inplace=True)
        return self.head(self.units(x).mean((2, 3)))
