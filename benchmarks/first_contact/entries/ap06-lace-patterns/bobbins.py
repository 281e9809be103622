import math

import torch
from torch.nn import functional as F


def pillow(number, size, classes, seed):
    """Scans of lace: threads of two sets crossing under angles that the ground stitch gives, with holes
    where the pattern opens; the label is the stitch."""
    g = torch.Generator().manual_seed(seed)
    axis = torch.linspace(-1, 1, size)
    y, x = torch.meshgrid(axis, axis, indexing="ij")
    label = torch.randint(0, classes, (number,), generator=g)
    scans = torch.empty(number, 1, size, size)
    for i in range(number):
        kind = int(label[i])
        opening = math.radians(25 + 8 * (kind % 4))
        pitch = 18 + 5 * (kind // 4) + float(torch.randn(1, generator=g))
        turn = float(torch.rand(1, generator=g)) * 0.6 - 0.3
        first = torch.cos(pitch * (x * math.cos(turn + opening) + y * math.sin(turn + opening)))
        second = torch.cos(pitch * (x * math.cos(turn - opening) + y * math.sin(turn - opening)))
        holes = F.interpolate(torch.randn(1, 1, 6, 6, generator=g), size=size, mode="bicubic")[0, 0]
        thread = torch.maximum(first, second) * torch.sigmoid(8 * (0.9 - holes))
        scans[i, 0] = thread + 0.5 * torch.randn(size, size, generator=g)
    return scans, label


class Handling:
    """What handling does to a piece: it is stretched unevenly, photographed out of focus, or lies under
    a shadow; each with its own probability and apart from the others."""

    def __init__(self, stretch=0.25, blur=0.15, shadow=0.3):
        self.odds = (stretch, blur, shadow)
        taps = torch.exp(-torch.arange(-5, 6).float() ** 2 / 8)
        self.taps = taps / taps.sum()

    def smooth(self, x):
        channels = x.size(1)
        x = F.conv2d(x, self.taps.view(1, 1, 1, -1).expand(channels, 1, 1, -1), padding=(0, 5), groups=channels)
        return F.conv2d(x, self.taps.view(1, 1, -1, 1).expand(channels, 1, -1, 1), padding=(5, 0), groups=channels)

    def stretched(self, x):
        size = x.size(-1)
        shift = self.smooth(torch.randn(len(x), 2, size, size)) * 0.35
        axis = torch.linspace(-1, 1, size)
        y, z = torch.meshgrid(axis, axis, indexing="ij")
        grid = torch.stack([z, y], 2) + shift.permute(0, 2, 3, 1)
        return F.grid_sample(x, grid, mode="bicubic", padding_mode="reflection", align_corners=True)

    def shadowed(self, x):
        dark = F.interpolate(torch.rand(len(x), 1, 3, 3), size=x.shape[-2:], mode="bicubic", align_corners=True)
        return x * (0.4 + 0.6 * dark)

    def __call__(self, x):
        for change, odds in zip((self.stretched, self.smooth, self.shadowed), self.odds):
            chosen = torch.rand(len(x), 1, 1, 1) < odds
            x = torch.where(chosen, change(x), x)
        return x
