import torch
from torch import nn


def stage(inside, outside, stride=1):
    return nn.Sequential(
        nn.Conv2d(inside, outside, 3, stride=stride, padding=1, bias=False),
        nn.BatchNorm2d(outside),
        nn.ReLU(inplace=True),
    )


class FlashNet(nn.Module):
    """Photometer rows by frames in; the clean raster and the species of the swarm out."""

    def __init__(self, species, width=8):
        super().__init__()
        self.first = stage(1, width)
        self.down = stage(width, 2 * width, stride=2)
        self.deep = nn.Sequential(stage(2 * width, 2 * width), stage(2 * width, 2 * width))
        self.up = nn.Sequential(nn.Conv2d(2 * width, 4 * width, 1, bias=False), nn.PixelShuffle(2))
        self.last = nn.Conv2d(width, 1, 3, padding=1)
        self.species = nn.Linear(2 * width, species)

    def forward(self, raster):
        fine = self.first(raster)
        deep = self.deep(self.down(fine))
        clean = self.last(fine + self.up(deep))
        return clean, self.species(deep.mean(dim=(2, 3)))
