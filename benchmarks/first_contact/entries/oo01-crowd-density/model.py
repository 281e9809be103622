import torch
from torch import nn


def conv(cin, cout, k, dilation=1):
    return nn.Sequential(
        nn.Conv2d(cin, cout, k, padding=dilation * (k - 1) // 2, dilation=dilation),
        nn.ReLU(inplace=True),
    )


class CrowdNet(nn.Module):
    """Small front end followed by dilated convolutions; density at a quarter of the resolution."""

    def __init__(self, width=24):
        super().__init__()
        w = width
        self.front = nn.Sequential(
            conv(3, w, 3), nn.MaxPool2d(2),
            conv(w, 2 * w, 3), conv(2 * w, 2 * w, 3), nn.MaxPool2d(2),
        )
        self.back = nn.Sequential(
            conv(2 * w, 3 * w, 3), conv(3 * w, 3 * w, 3, 2), conv(3 * w, 2 * w, 3, 2), conv(2 * w, w, 3, 2),
        )
        self.head = nn.Conv2d(w, 1, 1)
        for m in self.modules():
            if isinstance(m, nn.Conv2d):
                nn.init.kaiming_normal_(m.weight, nonlinearity="relu")
                nn.init.zeros_(m.bias)
        nn.init.normal_(self.head.weight, std=0.01)

    def forward(self, x):
        return self.head(self.back(self.front(x)))
