"""Knee-like phantoms; each volume is a compressed file of complex slices, as the scanner export gives."""
import os

import numpy as np

SIZE, SLICES = 80, 16


def volume(rng):
    yy, xx = np.mgrid[-1:1:SIZE * 1j, -1:1:SIZE * 1j]
    shapes = []
    for _ in range(9):
        shapes.append((rng.uniform(-0.5, 0.5), rng.uniform(-0.5, 0.5), rng.uniform(0.08, 0.4),
                       rng.uniform(0.08, 0.4), rng.uniform(0, np.pi), rng.uniform(0.2, 1.0)))
    out = []
    for s in range(SLICES):
        img = 0.3 * ((xx / 0.8) ** 2 + (yy / 0.9) ** 2 < 1)
        grow = 1 + 0.3 * np.sin(2 * np.pi * s / SLICES)
        for cx, cy, a, b, th, v in shapes:
            u = (xx - cx) * np.cos(th) + (yy - cy) * np.sin(th)
            w = -(xx - cx) * np.sin(th) + (yy - cy) * np.cos(th)
            img = img + v * ((u / a) ** 2 + (w / b) ** 2 < grow)
        phase = np.exp(1j * (rng.uniform(-1, 1) * xx + rng.uniform(-1, 1) * yy))
        noise = rng.normal(0, 0.01, (2, SIZE, SIZE))
        out.append(img / img.max() * phase + noise[0] + 1j * noise[1])
    return np.stack(out).astype(np.complex64)


if __name__ == "__main__":
    rng = np.random.default_rng(2)
    for split, n in (("train", 10), ("val", 2)):
        os.makedirs(split, exist_ok=True)
        for i in range(n):
            np.savez_compressed(f"{split}/knee_{i:03d}.npz", slices=volume(rng))
    print("wrote train/, val/")
