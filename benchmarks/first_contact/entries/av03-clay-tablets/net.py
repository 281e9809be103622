import torch
from torch import nn
from torch.nn import functional as F


def conv(i, o, stride=1):
    return nn.Sequential(nn.Conv2d(i, o, 3, stride=stride, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))


class SignNet(nn.Module):
    """Encoder to a quarter of the resolution, context from an eighth, one map for each sign."""

    def __init__(self, n_signs, width=64):
        super().__init__()
        self.down1 = conv(1, width // 2, 2)
        self.down2 = nn.Sequential(conv(width // 2, width, 2), conv(width, width))
        self.down3 = nn.Sequential(conv(width, width * 2, 2), conv(width * 2, width * 2))
        self.lateral = nn.Conv2d(width * 2, width, 1)
        self.fuse = conv(width, width)
        self.classifier = nn.Conv2d(width, n_signs, 1)

    def forward(self, x):
        size = x.shape[-2:]
        quarter = self.down2(self.down1(x))
        eighth = self.down3(quarter)
        up = F.interpolate(self.lateral(eighth), size=quarter.shape[-2:], mode="nearest")
        y = self.fuse(quarter + up)
        y = F.interpolate(y, size=size, mode="bilinear", align_corners=False)
        return self.classifier(y)
