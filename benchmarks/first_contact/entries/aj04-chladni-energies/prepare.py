"""Chladni figures of a square plate with free edges: sand gathers on the nodal lines of
cos(n x) cos(m y) +/- cos(m x) cos(n y), mixed with a bit of a neighbouring mode. 24 x 24, uint8."""

import os
import numpy as np

rng = np.random.default_rng(1787)
N, S = 6000, 24
g = (np.arange(S) + 0.5) / S * np.pi
y, x = np.meshgrid(g, g, indexing="ij")


def mode(n, m, sign):
    return np.cos(n * x) * np.cos(m * y) + sign * np.cos(m * x) * np.cos(n * y)


plates = np.empty((N, S, S), np.uint8)
labels = np.empty((N, 2), np.int64)
for i in range(N):
    n, m = sorted(rng.choice(np.arange(1, 6), 2, replace=False))
    sign = rng.choice([-1, 1])
    u = mode(n, m, sign) + rng.normal(0, 0.12) * mode(n, min(m + 1, 6), sign)
    sand = np.exp(-((u / 0.28) ** 2)) * rng.uniform(0.8, 1.0)
    sand += rng.normal(0, 0.03, sand.shape)
    plates[i] = (np.clip(sand, 0, 1) * 255).astype(np.uint8)
    labels[i] = n, m

np.savez(os.path.join(os.path.dirname(os.path.abspath(__file__)), "plates.npz"), plates=plates, modes=labels)
