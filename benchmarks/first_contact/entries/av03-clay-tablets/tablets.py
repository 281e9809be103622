"""Photographs of clay tablets (made here) cut into crops; signs are groups of wedges."""
import numpy as np
import torch
from torch.utils.data import Dataset


def _wedge(h, w, y, x, angle, size):
    yy, xx = np.mgrid[0:h, 0:w].astype(np.float32)
    dy, dx = yy - y, xx - x
    u = dx * np.cos(angle) + dy * np.sin(angle)
    v = -dx * np.sin(angle) + dy * np.cos(angle)
    return (u > 0) & (u < size) & (np.abs(v) < (size - u) * 0.35)


def photograph(rng, side, signs, n_signs):
    light = np.linspace(-0.3, 0.3, side, dtype=np.float32)
    img = 0.5 + 0.1 * rng.standard_normal((side, side)).astype(np.float32) + light[None] * rng.uniform(-1, 1)
    lab = np.zeros((side, side), np.int64)
    for _ in range(signs):
        c = int(rng.integers(1, n_signs))
        y, x = (int(v) for v in rng.integers(0, side - 28, 2))
        for k in range(1 + c % 4):
            m = _wedge(28, 28, 6 + 5 * k, 6 + 3 * (c % 3), 0.26 * c, 16)
            img[y:y + 28, x:x + 28][m] -= 0.4
            lab[y:y + 28, x:x + 28][m] = c
    return img, lab


class Tablets:
    def __init__(self, count, side, n_signs, seed):
        rng = np.random.default_rng(seed)
        made = [photograph(rng, side, side * side // 700, n_signs) for _ in range(count)]
        self.images = torch.from_numpy(np.stack([m[0] for m in made]))
        self.labels = torch.from_numpy(np.stack([m[1] for m in made]))


class Crops(Dataset):
    """Every crop on a regular grid over the photographs."""

    def __init__(self, tablets, size, stride, labelled):
        self.t, self.size, self.labelled = tablets, size, labelled
        n, side, _ = tablets.images.shape
        self.per_row = (side - size) // stride + 1
        self.stride = stride
        self.total = n * self.per_row * self.per_row

    def __len__(self):
        return self.total

    def __getitem__(self, i):
        n, rest = divmod(i, self.per_row * self.per_row)
        r, c = divmod(rest, self.per_row)
        win = (n, slice(r * self.stride, r * self.stride + self.size), slice(c * self.stride, c * self.stride + self.size))
        img = self.t.images[win][None]
        if self.labelled:
            return img, self.t.labels[win]
        return img
