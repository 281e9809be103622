"""A small encoder with a stochastic regression head."""
import torch
from torch import nn

SCALE = 10.0  # metres per unit of the network's output


class Residual(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.first = nn.Conv2d(width, width, 3, padding=1)
        self.second = nn.Conv2d(width, width, 3, padding=1)

    def forward(self, x):
        return torch.relu(x + self.second(torch.relu(self.first(x))))


class Encoder(nn.Module):
    """Features at a quarter of the resolution."""

    def __init__(self, bands, width):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(bands, width // 2, 3, stride=2, padding=1), nn.ReLU(),
                                  nn.Conv2d(width // 2, width, 3, stride=2, padding=1), nn.ReLU())
        self.local = nn.Sequential(Residual(width), Residual(width))
        self.down = nn.Sequential(nn.Conv2d(width, 2 * width, 3, stride=2, padding=1), nn.ReLU())
        self.context = nn.Sequential(Residual(2 * width), Residual(2 * width))
        self.up = nn.ConvTranspose2d(2 * width, width, 2, stride=2)

    def forward(self, x):
        x = self.local(self.stem(x))
        return torch.relu(x + self.up(self.context(self.down(x))))


class Head(nn.Module):
    """Height and log variance of every pixel."""

    def __init__(self, width, dropout):
        super().__init__()
        self.drop_in = nn.Dropout2d(dropout)
        self.mix = nn.Conv2d(width, width, 3, padding=1)
        self.drop_out = nn.Dropout2d(dropout)
        self.up = nn.Upsample(scale_factor=4, mode="bilinear", align_corners=False)
        self.out = nn.Conv2d(width, 2, 1)

    def forward(self, features):
        x = self.drop_out(torch.relu(self.mix(self.drop_in(features))))
        height, log_variance = self.out(self.up(x)).unbind(1)
        return height, log_variance.clamp(-6, 4)


class CanopyNet(nn.Module):
    def __init__(self, bands=4, width=48, dropout=0.15):
        super().__init__()
        self.encoder = Encoder(bands, width)
        self.head = Head(width, dropout)

    def forward(self, x):
        return self.head(self.encoder(x))


def nll(height, log_variance, target):
    return 0.5 * (log_variance + (target / SCALE - height) ** 2 * torch.exp(-log_variance)).mean()
