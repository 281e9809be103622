import torch.nn as nn
import torch.nn.functional as F


class ResBlock(nn.Module):
    def __init__(self, channels):
        super().__init__()
        self.conv1 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn1 = nn.BatchNorm2d(channels)
        self.conv2 = nn.Conv2d(channels, channels, 3, padding=1, bias=False)
        self.bn2 = nn.BatchNorm2d(channels)

    def forward(self, x):
        out = F.relu(self.bn1(self.conv1(x)))
        out = self.bn2(self.conv2(out))
        return F.relu(out + x)


class Res8(nn.Module):
    """Small residual keyword spotter (Tang and Lin, 2018)."""

    def __init__(self, num_classes, channels=32, blocks=3, pool=(4, 3)):
        super().__init__()
        self.stem = nn.Conv2d(1, channels, 3, padding=1, bias=False)
        self.pool = nn.AvgPool2d(pool)
        self.blocks = nn.Sequential(*[ResBlock(channels) for _ in range(blocks)])
        self.dropout = nn.Dropout(0.2)
        self.head = nn.Linear(channels, num_classes)

    def forward(self, x):
        x = self.pool(F.relu(self.stem(x)))
        x = self.blocks(x)
        x = x.mean(dim=(2, 3))
        return self.head(self.dropout(x))
