import torch
import torch.nn as nn
import torch.nn.functional as F


class SpatialPyramid(nn.Module):
    """Maxima over the cells of several grids, from coarse to fine."""

    def __init__(self, levels=(1, 2, 4)):
        super().__init__()
        self.levels = levels

    def forward(self, x):
        h, w = x.shape[2:]
        cells = []
        for n in self.levels:
            for i in range(n):
                for j in range(n):
                    top, bottom = i * h // n, (i + 1) * h // n
                    left, right = j * w // n, (j + 1) * w // n
                    patch = x[:, :, top:bottom, left:right]
                    cells.append(F.adaptive_max_pool2d(patch, 1).flatten(1))
        return torch.cat(cells, dim=1)


class PollenNet(nn.Module):
    def __init__(self, taxa, width=32, levels=(1, 2, 4), hidden=256):
        super().__init__()
        self.features = nn.Sequential(
            nn.Conv2d(1, width, 3, stride=2, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, 2 * width, 3, padding=1),
            nn.ReLU(),
            nn.MaxPool2d(2),
            nn.Conv2d(2 * width, 3 * width, 3, padding=1),
            nn.ReLU(),
        )
        self.pool = SpatialPyramid(levels)
        cells = sum(n * n for n in levels)
        self.head = nn.Sequential(
            nn.Linear(3 * width * cells, hidden),
            nn.ReLU(),
            nn.Linear(hidden, taxa),
        )

    def forward(self, x):
        return self.head(self.pool(self.features(x)))
