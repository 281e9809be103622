"""Stand-in for CIFAR-10 in its own file format: ten kinds of coloured textures and shapes."""
import os
import pickle

import numpy as np

rng = np.random.default_rng(9)
yy, xx = np.mgrid[0:32, 0:32] / 32.0
hue = rng.random((10, 3))


def batch(n):
    labels = rng.integers(0, 10, size=n)
    data = np.empty((n, 3, 32, 32), dtype=np.uint8)
    for i, k in enumerate(labels):
        a = 2 * np.pi * (k / 10 + 0.05 * rng.standard_normal())
        wave = np.sin(2 * np.pi * (2 + k % 4) * (np.cos(a) * xx + np.sin(a) * yy) + 6.3 * rng.random())
        cx, cy = rng.uniform(0.3, 0.7, 2)
        blob = ((xx - cx) ** 2 + (yy - cy) ** 2 < rng.uniform(0.02, 0.08)).astype(float)
        img = 0.45 + 0.2 * wave[None] * hue[k][:, None, None] + 0.3 * blob[None] * (hue[(k + 3) % 10] - 0.3)[:, None, None]
        img = img + 0.12 * rng.standard_normal((3, 32, 32))
        data[i] = np.clip(img * 255, 0, 255).astype(np.uint8)
    return {"data": data.reshape(n, -1), "labels": [int(v) for v in labels]}


parts = [("data_batch_%d" % i, batch(800)) for i in range(1, 6)] + [("test_batch", batch(800))]
for root in ("data", "cifar"):
    os.makedirs(root + "/cifar-10-batches-py", exist_ok=True)
    for name, entry in parts:
        with open("%s/cifar-10-batches-py/%s" % (root, name), "wb") as f:
            pickle.dump(entry, f)
