"""Made-up flows around ellipses in the form of the repository's OpenFOAM data (one npz of 6 x 128 x 128 a sample)."""
import os

import numpy as np

rng = np.random.RandomState(0)
os.makedirs("data/train", exist_ok=True)
x, y = np.meshgrid(np.linspace(-1, 1, 128), np.linspace(-1, 1, 128), indexing="ij")
for i in range(200):
    speed, angle = rng.uniform(10, 100), rng.uniform(-22.5, 22.5) * np.pi / 180
    u, v = np.cos(angle) * speed, np.sin(angle) * speed
    a, b = rng.uniform(0.2, 0.35), rng.uniform(0.03, 0.12)
    mask = ((x / a) ** 2 + (y / b) ** 2 < 1).astype(float)
    r2 = np.maximum((x / a) ** 2 + (y / b) ** 2, 1.0)
    vx = u * (1 - np.cos(2 * np.arctan2(y, x)) / r2)
    vy = v + u * np.sin(2 * np.arctan2(y, x)) / r2
    wake = np.exp(-(y / (0.1 + 0.2 * np.abs(x))) ** 2) * (x > 0) * np.exp(-2 * np.abs(x))
    vx, vy = (vx - 0.5 * u * wake) * (1 - mask), vy * (1 - mask)
    p = 0.5 * (speed ** 2 - vx ** 2 - vy ** 2) * (1 - mask)
    free = 1 - mask
    sample = np.stack([u * free, v * free, mask, p, vx, vy])
    sample = np.round(sample * 8) / 8
    np.savez_compressed("data/train/ellipse_%04d_%d_%d" % (i, u * 100, v * 100), a=sample)
