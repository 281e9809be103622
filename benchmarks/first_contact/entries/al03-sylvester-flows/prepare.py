"""Draws stand-ins for the Caltech 101 Silhouettes (28 x 28, split 1: 4100 / 2264 / 2307 outlines in 101 classes)
and writes them where utils/load_data.py looks for caltech101_silhouettes_28_split1.mat."""
import os

import numpy as np

rng = np.random.RandomState(101)
CLASSES = 101
angles = np.arctan2(*np.mgrid[-13.5:14.5, -13.5:14.5])
radius = np.sqrt((np.mgrid[-13.5:14.5, -13.5:14.5] ** 2).sum(0))
orders = np.arange(1, 7)
shapes = rng.randn(CLASSES, 2, len(orders)) / orders


def silhouettes(n):
    labels = rng.randint(0, CLASSES, n)
    out = np.empty((n, 784), dtype=np.uint8)
    for i, label in enumerate(labels):
        waves = shapes[label] + 0.15 * rng.randn(2, len(orders)) / orders
        edge = (9 + 1.5 * rng.rand()) * np.exp(0.35 * (
            np.tensordot(waves[0], np.cos(orders[:, None, None] * angles), 1)
            + np.tensordot(waves[1], np.sin(orders[:, None, None] * angles), 1)))
        out[i] = (radius > edge).ravel(order="F")
    return out, (labels + 1).astype(np.int32)[:, None]


folder = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "Caltech101Silhouettes")
os.makedirs(folder, exist_ok=True)
parts = {}
for part, n in (("train", 4100), ("val", 2264), ("test", 2307)):
    parts[part + "_data"], parts[part + "_labels"] = silhouettes(n)
with open(os.path.join(folder, "caltech101_silhouettes_28_split1.mat"), "wb") as f:
    np.savez(f, **parts)
