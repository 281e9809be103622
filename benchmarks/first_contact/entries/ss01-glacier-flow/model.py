import torch
import torch.nn as nn
import torch.nn.functional as F


def block(cin, cout, stride=1):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(cout),
        nn.LeakyReLU(0.1, inplace=True),
    )


class Encoder(nn.Module):
    def __init__(self, width=24, features=32):
        super().__init__()
        self.net = nn.Sequential(
            block(1, width, stride=2),
            block(width, width),
            block(width, features, stride=2),
            block(features, features),
            nn.Conv2d(features, features, 1),
        )

    def forward(self, x):
        return self.net(x)


class CorrelationLayer(nn.Module):
    """Cost volume over a square window of displacements."""

    def __init__(self, radius=4):
        super().__init__()
        self.radius = radius

    def forward(self, f1, f2):
        r = self.radius
        h, w = f1.shape[-2:]
        padded = F.pad(f2, (r, r, r, r))
        costs = []
        for dy in range(2 * r + 1):
            for dx in range(2 * r + 1):
                shifted = padded[:, :, dy:dy + h, dx:dx + w]
                costs.append((f1 * shifted).mean(dim=1, keepdim=True))
        return torch.cat(costs, dim=1)


class FlowNet(nn.Module):
    def __init__(self, radius=4, features=32, hidden=64):
        super().__init__()
        self.encoder = Encoder(features=features)
        self.correlation = CorrelationLayer(radius)
        volume = (2 * radius + 1) ** 2
        self.decoder = nn.Sequential(
            block(volume + features, hidden),
            block(hidden, hidden),
            block(hidden, hidden),
            nn.Conv2d(hidden, 2, 3, padding=1),
        )

    def forward(self, first, second):
        f1 = self.encoder(first)
        f2 = self.encoder(second)
        volume = F.leaky_relu(self.correlation(f1, f2), 0.1)
        return self.decoder(torch.cat([volume, f1], dim=1)) * 4.0
