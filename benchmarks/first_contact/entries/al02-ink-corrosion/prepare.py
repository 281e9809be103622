"""Simulated multispectral folios of iron gall ink manuscripts, with the corroded area as a mask.

Five bands (365, 450, 530, 640, 850 nm) of 320 x 320 pixels. Ink is laid down stroke by stroke; where much
ink met damp paper, its surroundings have gone brown and fluoresce less under ultraviolet light.
"""
import argparse
from pathlib import Path

import numpy as np

SIDE = 320
PAPER = np.array([0.62, 0.66, 0.74, 0.80, 0.84])
INK = np.array([0.50, 0.52, 0.50, 0.38, 0.12])
BROWN = np.array([0.34, 0.27, 0.18, 0.09, 0.02])


def smooth(field, scale):
    freq = np.fft.fftfreq(SIDE)
    low = np.exp(-2 * (np.pi * scale) ** 2 * (freq[:, None] ** 2 + freq[None, :] ** 2))
    return np.fft.ifft2(np.fft.fft2(field) * low).real


def write_line(ink, y, rng):
    x = rng.uniform(8, 25)
    while x < SIDE - 22:
        length = rng.integers(14, 40)
        slant, height, load = rng.uniform(-0.3, 0.5), rng.uniform(4, 10), rng.uniform(0.4, 1.6)
        t = np.linspace(0, 1, 6 * length)
        wave = np.sin(2 * np.pi * t * rng.integers(1, 4) + rng.uniform(0, 6))
        px = x + t * length + slant * wave * height
        py = y + wave * height + rng.normal(0, 0.6, t.size)
        rows = np.clip(py.round().astype(int), 0, SIDE - 1)
        cols = np.clip(px.round().astype(int), 0, SIDE - 1)
        np.add.at(ink, (rows, cols), load * (0.5 + np.abs(np.cos(6 * t))))
        x += length + rng.uniform(4, 14)


def folio(rng):
    ink = np.zeros((SIDE, SIDE))
    for y in range(int(rng.integers(14, 24)), SIDE - 10, int(rng.integers(26, 34))):
        write_line(ink, y, rng)
    strokes = np.clip(smooth(ink, 1.1), 0, 1.2)
    damp = smooth(rng.normal(size=(SIDE, SIDE)), 28)
    damp = 0.5 + damp / (3 * damp.std())
    harm = smooth(ink, 4.0) * np.clip(damp, 0.05, None)
    mask = harm > np.quantile(harm, 0.86)
    halo = smooth(mask * (0.6 + 0.5 * damp), 2.0)
    stain = np.clip(smooth(rng.normal(size=(SIDE, SIDE)), 18) * 12, 0, 0.5)
    bands = PAPER[:, None, None] - INK[:, None, None] * strokes - BROWN[:, None, None] * 0.5 * halo
    bands -= 0.2 * BROWN[:, None, None] * stain
    bands *= 1 + 0.05 * smooth(rng.normal(size=(SIDE, SIDE)), 40) * 60
    bands += rng.normal(0, 0.02, bands.shape)
    return (np.clip(bands, 0, 1) * 255).astype(np.uint8), mask.astype(np.uint8)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--folios", type=int, default=32)
    parser.add_argument("--out", type=Path, default=Path("folios"))
    args = parser.parse_args()
    args.out.mkdir(exist_ok=True)
    rng = np.random.default_rng(1723)
    for number in range(args.folios):
        bands, mask = folio(rng)
        np.savez(args.out / f"f{number:03d}.npz", bands=bands, mask=mask)
    print(args.folios, "folios in", args.out)
