from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

STAGES = ["W", "N1", "N2", "N3", "REM"]


def load_night(path):
    """Signal standardised per channel over the whole night, clipped against artefacts."""
    with np.load(path) as z:
        x, y = z["signal"].astype(np.float32), z["stages"]
    mean, std = x.mean((0, 2), keepdims=True), x.std((0, 2), keepdims=True)
    x = np.clip((x - mean) / std, -8, 8)
    return torch.from_numpy(x), torch.from_numpy(y)


def split_nights(folder, held_out):
    paths = sorted(Path(folder).glob("*.npz"))
    return paths[:-held_out], paths[-held_out:]


class SleepSequences(Dataset):
    """Runs of `length` neighbouring 30 s epochs, with a random phase of the grid when training."""

    def __init__(self, paths, length, stride=None):
        self.nights = [load_night(p) for p in paths]
        self.length = length
        stride = stride or length
        self.starts = [
            (n, s) for n, (_, y) in enumerate(self.nights) for s in range(0, len(y) - length + 1, stride)
        ]

    def class_weights(self):
        counts = torch.bincount(torch.cat([y for _, y in self.nights]), minlength=len(STAGES)).float()
        weight = counts.sum() / (len(STAGES) * counts)
        return weight.clamp(0.5, 3.0)

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, i):
        n, s = self.starts[i]
        x, y = self.nights[n]
        return x[s:s + self.length], y[s:s + self.length]
