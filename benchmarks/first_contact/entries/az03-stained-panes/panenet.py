import torch
from torch import nn
import torch.nn.functional as F


class Double(nn.Sequential):
    def __init__(self, cin, cout):
        super().__init__(
            nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
            nn.Conv2d(cout, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout), nn.ReLU(inplace=True),
        )


class UNet(nn.Module):
    def __init__(self, classes, base=16, depth=3):
        super().__init__()
        widths = [base << i for i in range(depth + 1)]
        self.stem = Double(3, base)
        self.down = nn.ModuleList(Double(a, b) for a, b in zip(widths, widths[1:]))
        self.squeeze = nn.ModuleList(nn.Conv2d(b, a, 1) for a, b in zip(widths[:-1], widths[1:]))
        self.up = nn.ModuleList(Double(2 * a, a) for a in widths[:-1])
        self.head = nn.Conv2d(base, classes, 1)

    def forward(self, x):
        x = self.stem(x)
        kept = []
        for stage in self.down:
            kept.append(x)
            x = stage(F.max_pool2d(x, 2))
        for i in range(len(self.up) - 1, -1, -1):
            x = F.interpolate(self.squeeze[i](x), scale_factor=2, mode="nearest")
            x = self.up[i](torch.cat((kept[i], x), 1))
        return self.head(x)
