"""Stand-in digits (strokes on a black ground) as MNIST's own idx files."""
import os
import struct

import numpy as np

rng = np.random.default_rng(20261201)
yy, xx = np.mgrid[0:28, 0:28].astype(np.float32)
paths = [np.cumsum(rng.normal(0, 2.6, (9, 2)), 0) for _ in range(10)]
paths = [np.clip(p - p.mean(0), -9, 9) + 13.5 for p in paths]


def glyphs(labels):
    out = np.zeros((len(labels), 28, 28), np.uint8)
    for i, l in enumerate(labels):
        p = paths[l] + rng.normal(0, 0.7, (9, 2)) + rng.normal(0, 1.2, (1, 2))
        q = np.concatenate([p, (p[1:] + p[:-1]) / 2]).astype(np.float32)
        d = ((yy[None] - q[:, 0, None, None]) ** 2 + (xx[None] - q[:, 1, None, None]) ** 2).min(0)
        v = 300 * np.exp(-d / 1.6)
        out[i] = np.where(v < 20, 0, np.minimum(v, 255)).astype(np.uint8)
    return out


raw = "data/MNIST/raw"
os.makedirs(raw, exist_ok=True)
for stem, n in (("train", 24000), ("t10k", 4000)):
    labels = rng.integers(0, 10, n).astype(np.uint8)
    images = glyphs(labels)
    with open(f"{raw}/{stem}-images-idx3-ubyte", "wb") as f:
        f.write(struct.pack(">IIII", 2051, n, 28, 28) + images.tobytes())
    with open(f"{raw}/{stem}-labels-idx1-ubyte", "wb") as f:
        f.write(struct.pack(">II", 2049, n) + labels.tobytes())
