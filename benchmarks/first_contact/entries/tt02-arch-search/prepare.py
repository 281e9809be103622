"""Writes small pictures in the shape of CIFAR-10's first file to data/cifar-10-batches-py."""
import os
import pickle

import numpy as np

rng = np.random.default_rng(1)
yy, xx = np.mgrid[0:32, 0:32] / 31.0
n = 640
labels = rng.integers(0, 10, n)
out = np.empty((n, 3, 32, 32), np.uint8)
for k, c in enumerate(labels):
    f = 2 + c % 5
    a = (c // 5) * np.pi / 2 + rng.normal(0, 0.2)
    wave = np.sin(2 * np.pi * f * (xx * np.cos(a) + yy * np.sin(a)) + rng.uniform(0, 6.3))
    tint = rng.uniform(0.3, 1.0, (3, 1, 1))
    out[k] = np.clip(127 + 90 * tint * wave + rng.normal(0, 12, (3, 32, 32)), 0, 255)
os.makedirs("data/cifar-10-batches-py", exist_ok=True)
with open("data/cifar-10-batches-py/data_batch_1", "wb") as f:
    pickle.dump({"data": out.reshape(n, -1), "labels": [int(x) for x in labels]}, f)
