"""A synthetic multispectral scene with canopy heights, cut into tiles."""
import torch
import torch.nn.functional as F

BANDS = 4


def smooth_noise(side, cell, channels, generator):
    coarse = torch.randn(1, channels, side // cell + 2, side // cell + 2, generator=generator)
    return F.interpolate(coarse, size=(side, side), mode="bicubic", align_corners=False)[0]


def draw_scene(side, seed):
    """Reflectances (bands, side, side) and canopy height in metres (side, side)."""
    g = torch.Generator().manual_seed(seed)
    relief = smooth_noise(side, 96, 1, g)[0]
    stands = smooth_noise(side, 24, 1, g)[0]
    crowns = smooth_noise(side, 6, 1, g)[0]
    height = (12 + 6 * relief + 7 * stands + 3 * crowns).clamp(0, 45)
    texture = smooth_noise(side, 4, BANDS, g)
    slope = torch.tensor([-0.012, -0.006, -0.015, 0.022])[:, None, None]
    offset = torch.tensor([0.45, 0.35, 0.5, 0.2])[:, None, None]
    bands = offset + slope * height + 0.04 * texture + 0.03 * torch.randn(BANDS, side, side, generator=g)
    return bands.clamp(0, 1), height


class Tiles:
    """Iterates over a scene tile by tile, row after row, in batches."""

    def __init__(self, bands, height, tile, batch):
        self.bands, self.height = bands, height
        self.tile, self.batch = tile, batch
        self.mean = bands.mean((1, 2))[:, None, None]
        self.std = bands.std((1, 2))[:, None, None]
        side = bands.shape[-1]
        self.places = [(r, c) for r in range(0, side - tile + 1, tile) for c in range(0, side - tile + 1, tile)]

    def __len__(self):
        return (len(self.places) + self.batch - 1) // self.batch

    def __iter__(self):
        for start in range(0, len(self.places), self.batch):
            places = self.places[start:start + self.batch]
            images = torch.stack([self.bands[:, r:r + self.tile, c:c + self.tile] for r, c in places])
            heights = torch.stack([self.height[r:r + self.tile, c:c + self.tile] for r, c in places])
            yield places, (images - self.mean) / self.std, heights

    def random(self, count, generator):
        """A batch of tiles at random places, for training."""
        limit = self.bands.shape[-1] - self.tile + 1
        corners = torch.randint(limit, (count, 2), generator=generator).tolist()
        images = torch.stack([self.bands[:, r:r + self.tile, c:c + self.tile] for r, c in corners])
        heights = torch.stack([self.height[r:r + self.tile, c:c + self.tile] for r, c in corners])
        return (images - self.mean) / self.std, heights
