"""Small orthophotos of mosaic floors with the stone of each pixel: Voronoi cells with mortar between, made from a seed."""
import numpy as np
import torch

STONES = 20


def floor(rng, size):
    n = int(rng.integers(30, 60))
    seeds = rng.uniform(0, size, (n, 2))
    y, x = np.mgrid[0:size, 0:size]
    d = np.hypot(y[..., None] - seeds[:, 0], x[..., None] - seeds[:, 1])
    near = np.sort(np.argpartition(d, 1, -1)[..., :2], -1)
    first = d.argmin(-1)
    two = np.take_along_axis(d, near, -1)
    mortar = np.abs(two[..., 0] - two[..., 1]) < 0.9
    few = rng.choice(np.arange(1, STONES), int(rng.integers(5, 12)), replace=False)
    label = rng.choice(few, n)[first]
    label[mortar] = 0
    return label


def floors(count, size=48, seed=0):
    rng = np.random.default_rng(seed)
    palette = np.random.default_rng(42).uniform(0.15, 0.95, (STONES, 3))
    palette[0] = 0.6
    labels = np.stack([floor(rng, size) for _ in range(count)])
    light = rng.uniform(0.8, 1.15, (count, 1, 1, 1))
    pictures = palette[labels] * light + rng.normal(0, 0.05, (count, size, size, 3))
    pictures = torch.from_numpy(np.clip(pictures, 0, 1).astype(np.float32)).permute(0, 3, 1, 2).contiguous()
    return pictures, torch.from_numpy(labels.astype(np.int64))
