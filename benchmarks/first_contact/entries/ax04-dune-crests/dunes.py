import numpy as np
import torch
from torch.utils.data import Dataset

SIDE, STRIDE = 128, 4


def dune_field(rng):
    """Elevation of transverse dunes with wandering crestlines, and the crest mask."""
    yy, xx = np.mgrid[0:SIDE, 0:SIDE].astype(np.float32)
    angle = rng.uniform(-0.5, 0.5)
    along, across = xx * np.cos(angle) + yy * np.sin(angle), -xx * np.sin(angle) + yy * np.cos(angle)
    wander = sum(rng.uniform(1, 4) * np.sin(across / rng.uniform(6, 18) + rng.uniform(0, 6)) for _ in range(3))
    phase = ((along + wander) / rng.uniform(22, 34)) % 1.0
    stoss = rng.uniform(0.65, 0.8)
    profile = np.where(phase < stoss, phase / stoss, (1 - phase) / (1 - stoss))
    patch = 0.5 + 0.5 * np.tanh(2 * np.sin(xx / rng.uniform(20, 40) + rng.uniform(0, 6)) + 2 * np.cos(yy / rng.uniform(20, 40)) + 1)
    elevation = profile * patch * 6 + rng.normal(0, 0.15, (SIDE, SIDE))
    crest = (np.abs(phase - stoss) < 0.03) & (patch > 0.3)
    return elevation.astype(np.float32), crest


class DuneTiles(Dataset):
    def __init__(self, count, seed, augment=True, reach=6.0):
        rng = np.random.default_rng(seed)
        fields = [dune_field(rng) for _ in range(count)]
        self.elevations = [e for e, _ in fields]
        self.crests = [c for _, c in fields]
        self.augment, self.reach = augment, reach
        self.rng = np.random.default_rng(seed + 1)

    def __len__(self):
        return len(self.elevations)

    def crest_distance(self, index):
        """Distance from the middle of each cell of the coarse grid to the nearest crest pixel, in cells, capped at `reach`."""
        coarse = SIDE // STRIDE
        on = np.argwhere(self.crests[index])
        if len(on) == 0:
            return np.full((coarse, coarse), self.reach, dtype=np.float32)
        cells = np.indices((coarse, coarse)).reshape(2, -1).T * STRIDE + (STRIDE - 1) / 2
        gaps = cells[:, None, :] - on[None, :, :]
        distance = np.sqrt((gaps ** 2).sum(-1)).min(1) / STRIDE
        return np.minimum(distance, self.reach).reshape(coarse, coarse).astype(np.float32)

    def __getitem__(self, index):
        elevation = self.elevations[index]
        slope_y, slope_x = np.gradient(elevation)
        picture = np.stack([elevation / 3 - 1, slope_x, slope_y])
        crest = self.crests[index].astype(np.float32)
        distance = self.crest_distance(index)
        if self.augment and self.rng.random() < 0.5:
            picture, crest, distance = picture[:, :, ::-1].copy(), crest[:, ::-1].copy(), distance[:, ::-1].copy()
            picture[1] *= -1
        return torch.from_numpy(picture), torch.from_numpy(crest), torch.from_numpy(distance)
