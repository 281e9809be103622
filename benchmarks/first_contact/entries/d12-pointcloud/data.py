import numpy as np
import torch
from torch.utils.data import Dataset

KINDS = ("sphere", "box", "cone", "torus")


def surface(kind, n, rng):
    if kind == "box":
        p = rng.uniform(-1, 1, (n, 3))
        face = rng.integers(0, 3, n)
        p[np.arange(n), face] = np.sign(p[np.arange(n), face])
        return p
    a = rng.uniform(0, 2 * np.pi, n)
    if kind == "sphere":
        p = rng.standard_normal((n, 3))
        return p / np.linalg.norm(p, axis=1, keepdims=True)
    if kind == "cone":
        h = np.sqrt(rng.random(n))
        return np.stack([h * np.cos(a), h * np.sin(a), 1 - 2 * h], axis=1)
    b = rng.uniform(0, 2 * np.pi, n)
    ring = 0.7 + 0.3 * np.cos(b)
    return np.stack([ring * np.cos(a), ring * np.sin(a), 0.3 * np.sin(b)], axis=1)


class Shapes(Dataset):
    def __init__(self, count, points=128, train=True, seed=0):
        rng = np.random.default_rng(seed)
        self.points, self.train = points, train
        self.labels = rng.integers(0, len(KINDS), count)
        self.clouds = [surface(KINDS[k], 512, rng).astype(np.float32) for k in self.labels]

    def __len__(self):
        return len(self.clouds)

    def __getitem__(self, i):
        p = self.clouds[i]
        if self.train:
            p = p[np.random.choice(len(p), self.points, replace=False)]
            angle = np.random.uniform(0, 2 * np.pi)
            c, s = np.cos(angle), np.sin(angle)
            p = p @ np.array([[c, -s, 0], [s, c, 0], [0, 0, 1]], dtype=np.float32)
            p = p * np.random.uniform(0.8, 1.25) + np.random.normal(0, 0.02, p.shape)
        else:
            p = p[: self.points]
        return torch.as_tensor(p, dtype=torch.float32), int(self.labels[i])
