"""Stand-in digits in the file format of MNIST: 12000 for training, 2000 for the test."""
import os

import numpy as np

rng = np.random.default_rng(7)
SEG = {0: "abcdef", 1: "bc", 2: "abged", 3: "abgcd", 4: "fgbc", 5: "afgcd", 6: "afgedc", 7: "abc", 8: "abcdefg", 9: "abcdfg"}
LINE = {"a": (0, 0, 0, 1), "b": (0, 1, 1, 1), "c": (1, 1, 2, 1), "d": (2, 0, 2, 1), "e": (1, 0, 2, 0), "f": (0, 0, 1, 0), "g": (1, 0, 1, 1)}


def picture(label):
    top, left = rng.uniform(4, 7), rng.uniform(7, 11)
    high, wide, slant = rng.uniform(7, 9), rng.uniform(7, 11), rng.uniform(-0.25, 0.25)
    yy, xx = np.mgrid[0:28, 0:28].astype(np.float32)
    out = np.zeros((28, 28), np.float32)
    width = rng.uniform(0.9, 1.6)
    for s in SEG[label]:
        r0, c0, r1, c1 = LINE[s]
        y0, y1 = top + r0 * high, top + r1 * high
        x0, x1 = left + c0 * wide - slant * r0 * high, left + c1 * wide - slant * r1 * high
        dy, dx = y1 - y0, x1 - x0
        t = np.clip(((yy - y0) * dy + (xx - x0) * dx) / (dy * dy + dx * dx), 0, 1)
        d = np.hypot(yy - y0 - t * dy, xx - x0 - t * dx)
        out = np.maximum(out, np.clip(width + 0.5 - d, 0, 1))
    return (out * rng.uniform(200, 255)).astype(np.uint8)


def write(path, a):
    head = bytes([0, 0, 8, a.ndim]) + b"".join(int(n).to_bytes(4, "big") for n in a.shape)
    with open(path, "wb") as f:
        f.write(head + a.tobytes())


here = os.path.join("data", "MNIST", "raw")
os.makedirs(here, exist_ok=True)
for stem, n in (("train", 12000), ("t10k", 2000)):
    labels = rng.integers(0, 10, n).astype(np.uint8)
    write(os.path.join(here, stem + "-labels-idx1-ubyte"), labels)
    write(os.path.join(here, stem + "-images-idx3-ubyte"), np.stack([picture(int(k)) for k in labels]))
