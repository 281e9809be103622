import torch
import torch.nn as nn


class Twins(nn.Module):
    """Two pictures, one network, and a weighted distance between what it sees."""

    def __init__(self, width=32, dim=128):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(1, width, 5, stride=2, padding=2),
            nn.ReLU(inplace=True),
            nn.Conv2d(width, 2 * width, 3, stride=2, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(2 * width, 3 * width, 3, padding=1),
            nn.ReLU(inplace=True),
            nn.Conv2d(3 * width, 4 * width, 3, stride=2, padding=1),
            nn.ReLU(inplace=True),
            nn.Flatten(),
            nn.Linear(4 * width * 36, dim),
        )
        self.weigh = nn.Linear(dim, 1)

    def embed(self, x):
        return self.net(x)

    def compare(self, a, b):
        return self.weigh((a - b).abs()).squeeze(-1)

    def forward(self, first, second):
        a, b = self.embed(torch.cat([first, second])).chunk(2)
        return self.compare(a, b)
