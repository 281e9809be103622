import glob
import os

import numpy as np
import torch
from torch.utils.data import Dataset


def fft2c(x):
    return np.fft.fftshift(np.fft.fft2(np.fft.ifftshift(x, axes=(-2, -1)), norm="ortho"), axes=(-2, -1))


def cartesian_mask(size, acceleration, centre, rng):
    """Random phase-encoding lines, with the centre always kept."""
    prob = (size / acceleration - centre) / (size - centre)
    lines = rng.random(size) < prob
    pad = (size - centre) // 2
    lines[pad:pad + centre] = True
    return np.tile(lines[None, :], (size, 1)).astype(np.float64)


class KneeSlices(Dataset):
    def __init__(self, folder, acceleration=4, centre=8, seed=None):
        self.acceleration = acceleration
        self.centre = centre
        self.seed = seed
        self.rng = np.random.default_rng(seed)
        self.examples = []
        for path in sorted(glob.glob(os.path.join(folder, "*.npz"))):
            n = len(np.load(path)["slices"])
            self.examples += [(path, s) for s in range(n)]

    def __len__(self):
        return len(self.examples)

    def __getitem__(self, i):
        path, s = self.examples[i]
        image = np.load(path)["slices"][s]
        rng = self.rng if self.seed is None else np.random.default_rng(self.seed + i)
        mask = cartesian_mask(image.shape[-1], self.acceleration, self.centre, rng)
        kspace = fft2c(image) * mask
        return torch.from_numpy(kspace), torch.from_numpy(mask), torch.from_numpy(image)
