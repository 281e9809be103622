"""Made-up grey parchment leaves with lines of strokes, and holes to be filled."""
import random

import numpy as np
import torch
from torch.utils.data import Dataset


def make_leaves(count, size, seed):
    rng = np.random.default_rng(seed)
    yy, xx = np.mgrid[:size, :size].astype(np.float32)
    leaves = np.empty((count, size, size), np.uint8)
    for i in range(count):
        pitch = rng.uniform(7, 13)
        tilt = rng.uniform(-0.06, 0.06)
        row = yy + tilt * xx
        lines = np.sin(2 * np.pi * row / pitch + rng.uniform(0, 6.28)) > 0.35
        strokes = np.sin(xx * rng.uniform(0.9, 1.5) + 2.0 * np.sin(row * 0.4) + np.floor(row / pitch) * 1.7) > rng.uniform(0.0, 0.5)
        skin = 190 + 18 * np.sin(xx / rng.uniform(9, 30)) * np.cos(yy / rng.uniform(9, 30))
        page = np.where(lines & strokes, rng.uniform(30, 80), skin) + rng.normal(0, 6, (size, size))
        leaves[i] = np.clip(page, 0, 255)
    return leaves


def random_hole(size):
    mask = torch.ones(1, size, size)
    for _ in range(random.randint(1, 4)):
        h, w = random.randint(6, 22), random.randint(6, 22)
        top, left = random.randint(0, size - h), random.randint(0, size - w)
        mask[:, top:top + h, left:left + w] = 0
    return mask


class HoledLeaves(Dataset):
    def __init__(self, leaves):
        self.leaves = leaves

    def __len__(self):
        return len(self.leaves)

    def __getitem__(self, index):
        page = torch.from_numpy(self.leaves[index]).float().div(127.5).sub(1).unsqueeze(0)
        if random.random() < 0.5:
            page = page.flip(-1)
        return page, random_hole(page.shape[-1])
