import mmap
import zlib

import numpy as np
import torch
from torch.utils.data import Dataset

SIDE, CROP = 72, 64


class Silhouettes(Dataset):
    """Compressed pictures in one mapped file; a whole batch is decoded at a time."""

    def __init__(self, folder, split, augment, seed=0):
        index = np.load(f"{folder}/{split}.index.npz")
        self.offsets, self.labels = index["offsets"], index["labels"]
        self.path, self.augment, self.seed = f"{folder}/{split}.shard", augment, seed
        self.map = None

    def __len__(self):
        return len(self.labels)

    def _open(self):
        with open(self.path, "rb") as f:
            self.map = mmap.mmap(f.fileno(), 0, access=mmap.ACCESS_READ)
        self.rng = np.random.default_rng([self.seed, torch.initial_seed() % 2**31])

    def __getitems__(self, wanted):
        if self.map is None:
            self._open()
        out = np.empty((len(wanted), 1, CROP, CROP), dtype=np.uint8)
        room = SIDE - CROP
        if self.augment:
            corners, flips = self.rng.integers(0, room + 1, (len(wanted), 2)), self.rng.random(len(wanted)) < 0.5
        else:
            corners, flips = np.full((len(wanted), 2), room // 2), np.zeros(len(wanted), dtype=bool)
        for row, i in enumerate(wanted):
            raw = zlib.decompress(self.map[self.offsets[i]:self.offsets[i + 1]])
            y, x = corners[row]
            picture = np.frombuffer(raw, dtype=np.uint8).reshape(SIDE, SIDE)[y:y + CROP, x:x + CROP]
            out[row, 0] = picture[:, ::-1] if flips[row] else picture
        return torch.from_numpy(out), torch.from_numpy(self.labels[wanted])


def as_is(batch):
    return batch
