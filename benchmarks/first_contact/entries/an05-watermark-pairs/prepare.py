"""Writes watermarks.npz: beta-radiographs (64 x 64, uint8) of paper with moulds' watermarks; pairs from one mould."""
import numpy as np

rng = np.random.default_rng(41)
SIZE, MOULDS, SHEETS = 64, 260, 3
y, x = np.mgrid[:SIZE, :SIZE].astype(np.float32)
sheets = np.empty((MOULDS, SHEETS, SIZE, SIZE), np.uint8)
for mould in range(MOULDS):
    t = np.linspace(0, 2 * np.pi, 160)
    radius = 15 + sum(rng.normal(0, 4 / k) * np.cos(k * t + rng.uniform(0, 6.3)) for k in range(1, 7))
    drawn = np.zeros((SIZE, SIZE), np.float32)
    px = (32 + radius * np.cos(t)).clip(1, 62).astype(int)
    py = (32 + radius * np.sin(t)).clip(1, 62).astype(int)
    drawn[py, px] = drawn[py + 1, px] = drawn[py, px + 1] = 1
    chains = rng.uniform(12, 18)
    for sheet in range(SHEETS):
        lines = 0.3 * (np.abs((x + rng.uniform(-2, 2)) % chains) < 1.2) + 0.12 * np.sin(y * 2.1)
        moved = np.roll(drawn, rng.integers(-3, 4, 2), (0, 1))
        cloud = rng.normal(0, 0.12, (SIZE // 4, SIZE // 4)).repeat(4, 0).repeat(4, 1)
        sheets[mould, sheet] = (110 + 80 * (lines + moved + cloud) + rng.normal(0, 9, (SIZE, SIZE))).clip(0, 255)
np.savez("watermarks.npz", sheets=sheets)
