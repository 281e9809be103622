import torch
import torch.nn as nn
import torch.nn.functional as F


class LevelField(nn.Module):
    """Takes the slow shading of the lamp out of a section."""

    def __init__(self, sigma=4.0):
        super().__init__()
        half = int(3 * sigma)
        r = torch.arange(-half, half + 1, dtype=torch.float32)
        g = torch.exp(-0.5 * (r / sigma) ** 2)
        g = g / g.sum()
        self.half = half
        self.register_buffer("kernel", (g[:, None] * g[None, :])[None, None])

    def forward(self, x):
        padded = F.pad(x, (self.half,) * 4, mode="reflect")
        slow = F.conv2d(padded, self.kernel)
        return x - slow


class Block(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1)
        self.norm1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1)
        self.norm2 = nn.BatchNorm2d(cout)
        self.skip = nn.Conv2d(cin, cout, 1, stride) if (cin != cout or stride != 1) else nn.Identity()

    def forward(self, x):
        y = F.relu(self.norm1(self.conv1(x)))
        y = self.norm2(self.conv2(y))
        return F.relu(y + self.skip(x))


class AgeReader(nn.Module):
    """Section and catch data in, one logit for each "older than k years" out."""

    def __init__(self, thresholds, width=12, covariates=5):
        super().__init__()
        self.level = LevelField()
        self.stem = nn.Sequential(nn.Conv2d(1, width, 5, 2, 2), nn.BatchNorm2d(width), nn.ReLU())
        self.body = nn.Sequential(
            Block(width, width, 2),
            Block(width, 2 * width, 1),
            Block(2 * width, 4 * width, 2),
            Block(4 * width, 4 * width, 1),
        )
        self.notes = nn.Sequential(nn.Linear(covariates, 32), nn.ReLU(), nn.Linear(32, 32), nn.ReLU())
        self.score = nn.Linear(4 * width + 32, 1)
        self.cuts = nn.Parameter(torch.linspace(-3, 3, thresholds))

    def forward(self, x, covariates):
        y = self.body(self.stem(self.level(x)))
        y = torch.cat([y.mean((2, 3)), self.notes(covariates)], 1)
        return self.score(y) - self.cuts


def read_age(logits):
    return (logits > 0).sum(1)
