import torch
import torch.nn as nn


def double_conv(inputs, outputs):
    return nn.Sequential(
        nn.Conv2d(inputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
        nn.Conv2d(outputs, outputs, 3, padding=1, bias=False), nn.BatchNorm2d(outputs), nn.ReLU(inplace=True),
    )


class UNet(nn.Module):
    def __init__(self, channels=1, classes=3, base=8, depth=4):
        super().__init__()
        widths = [base * 2 ** level for level in range(depth)]
        self.down = nn.ModuleList()
        for width in widths:
            self.down.append(double_conv(channels, width))
            channels = width
        self.pool = nn.MaxPool2d(2)
        self.up = nn.ModuleList()
        self.merge = nn.ModuleList()
        for width in reversed(widths[:-1]):
            self.up.append(nn.ConvTranspose2d(channels, width, 2, stride=2))
            self.merge.append(double_conv(2 * width, width))
            channels = width
        self.head = nn.Conv2d(channels, classes, 1)

    def forward(self, x):
        skips = []
        for level, block in enumerate(self.down):
            x = block(x if level == 0 else self.pool(x))
            skips.append(x)
        skips.pop()
        for up, merge in zip(self.up, self.merge):
            x = merge(torch.cat([skips.pop(), up(x)], dim=1))
        return self.head(x)
