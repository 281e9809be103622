"""Writes digits in the shape of MNIST (28x28, bytes) to data/MNIST/processed, from scikit-learn's small digits."""
import os

import numpy as np
import torch
from scipy.ndimage import shift, zoom
from sklearn.datasets import load_digits

rng = np.random.default_rng(0)
small = load_digits()
big = np.stack([np.pad(zoom(im / 16.0, 20 / 8, order=1), 4) for im in small.images])


def make(n):
    pick = rng.integers(0, len(big), n)
    out = np.empty((n, 28, 28), np.uint8)
    for k, i in enumerate(pick):
        im = shift(big[i], rng.uniform(-2, 2, 2), order=1) * rng.uniform(0.8, 1.0)
        out[k] = np.clip(im * 255 + rng.normal(0, 3, im.shape), 0, 255)
    return torch.from_numpy(out), torch.from_numpy(small.target[pick].astype(np.int64))


os.makedirs("data/MNIST/processed", exist_ok=True)
torch.save(make(5120), "data/MNIST/processed/training.pt")
torch.save(make(853), "data/MNIST/processed/test.pt")
