"""Writes data/adj_mat.npy (207 x 207) and data/node_values.npy (steps, 207, 2), as METR-LA.zip of the repository holds them, with fewer steps (argument 1; the real one has 34272)."""
import os
import sys
import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 700
rng = np.random.default_rng(0)
os.makedirs("data", exist_ok=True)
p = rng.uniform(0, 1, (207, 2))
d = ((p[:, None] - p[None]) ** 2).sum(-1)
a = np.exp(-d / 0.01)
a[a < 0.1] = 0
np.save("data/adj_mat.npy", a.astype(np.float32))
t = np.arange(n)
v = 55 + 10 * np.sin(2 * np.pi * t[:, None] / 288 + rng.uniform(0, 6, 207)) + rng.normal(0, 3, (n, 207))
np.save("data/node_values.npy", np.stack([v, np.broadcast_to((t / 288 % 1)[:, None], v.shape)], -1).astype(np.float64))
