"""A made-up post-stack seismic volume (float16) and its facies (uint8), stored as .npy."""
import argparse
from pathlib import Path

import numpy as np


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("data"))
    parser.add_argument("--inlines", type=int, default=200)
    parser.add_argument("--crosslines", type=int, default=320)
    parser.add_argument("--depth", type=int, default=192)
    args = parser.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    rng = np.random.default_rng(23)
    ni, nx, nz = args.inlines, args.crosslines, args.depth
    i, x = np.meshgrid(np.arange(ni), np.arange(nx), indexing="ij")
    z = np.arange(nz)
    tops = []
    for k in range(5):
        surface = (k + 1) * nz / 6
        for _ in range(4):
            surface = surface + rng.uniform(1, 5) * np.sin(2 * np.pi * (i * rng.uniform(0.5, 2) / ni + x * rng.uniform(0.5, 2) / nx + rng.random()))
        fault = rng.uniform(60, nx - 60)
        tops.append(surface + np.where(x + 0.3 * i > fault, rng.uniform(-8, 8), 0))
    tops = np.sort(np.stack(tops), 0)
    facies = np.zeros((ni, nx, nz), np.uint8)
    depth = np.zeros((ni, nx, nz), np.float32)
    for t in tops:
        below = z[None, None, :] >= t[..., None]
        facies += below.astype(np.uint8)
        depth = np.where(below, z[None, None, :] - t[..., None], depth)
    period = np.array([9.0, 14.0, 7.0, 22.0, 11.0, 5.0])[facies]
    strength = np.array([0.6, 1.0, 0.4, 0.25, 1.2, 0.8])[facies]
    noise = np.array([0.2, 0.1, 0.3, 0.5, 0.15, 0.2])[facies]
    volume = strength * np.sin(2 * np.pi * depth / period) + noise * rng.normal(size=facies.shape)
    np.save(args.out / "amplitude.npy", volume.astype(np.float16))
    np.save(args.out / "facies.npy", facies)


if __name__ == "__main__":
    main()
