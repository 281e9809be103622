import torch
from torch import nn
from torch.nn import functional as F


def conv_bn(inside, outside, stride=1, kernel=3):
    return nn.Sequential(nn.Conv2d(inside, outside, kernel, stride, kernel // 2), nn.BatchNorm2d(outside), nn.ReLU())


class CrestHead(nn.Module):
    """Brings the merged features to the resolution of the tile and scores crest and slip face."""

    def __init__(self, width, scores, scale):
        super().__init__()
        self.scale = scale
        self.squeeze = conv_bn(width, width)
        self.score = nn.Conv2d(width, scores, kernel_size=1)

    def forward(self, x):
        x = self.squeeze(x)
        x = F.interpolate(x, scale_factor=self.scale, mode="bilinear", align_corners=False)
        return self.score(x)


class CrestNet(nn.Module):
    def __init__(self, width=48):
        super().__init__()
        self.stem = nn.Sequential(conv_bn(3, 24, stride=2, kernel=5), conv_bn(24, width, stride=2))
        self.fine = conv_bn(width, width)
        self.mid = nn.Sequential(conv_bn(width, 2 * width, stride=2), conv_bn(2 * width, 2 * width))
        self.coarse = nn.Sequential(conv_bn(2 * width, 2 * width, stride=2), conv_bn(2 * width, 2 * width))
        self.lateral_mid = nn.Conv2d(2 * width, width, 1)
        self.lateral_coarse = nn.Conv2d(2 * width, width, 1)
        self.head = CrestHead(width, scores=2, scale=4)
        self.distance = nn.Sequential(conv_bn(width, width // 2), nn.Conv2d(width // 2, 1, 1))

    def forward(self, x):
        fine = self.fine(self.stem(x))
        mid = self.mid(fine)
        coarse = self.coarse(mid)
        top = self.lateral_mid(mid) + F.interpolate(self.lateral_coarse(coarse), scale_factor=2, mode="bilinear", align_corners=False)
        merged = fine + F.interpolate(top, scale_factor=2, mode="bilinear", align_corners=False)
        return self.head(merged), self.distance(merged).squeeze(1)
