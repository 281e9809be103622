"""Made-up radar days: rain cells that drift, grow and die, with speckle."""
import os

import numpy as np

SIZE, FRAMES = 96, 288


def day(rng):
    ys, xs = np.mgrid[0:SIZE, 0:SIZE].astype(np.float32)
    wind = rng.normal(0, 1.2, 2)
    cells = []
    for _ in range(rng.integers(50, 85)):
        cells.append((rng.uniform(-40, FRAMES), rng.uniform(20, 70), rng.uniform(-20, SIZE + 20, 2),
                      rng.uniform(3, 11), rng.uniform(20, 52), rng.normal(0, 0.25, 2), rng.uniform(0.6, 1.7)))
    frames = np.zeros((FRAMES, SIZE, SIZE), np.float32)
    for birth, life, at, radius, peak, own, stretch in cells:
        for t in range(max(0, int(birth) + 1), min(FRAMES, int(birth + life))):
            age = (t - birth) / life
            amp = peak * np.sin(np.pi * age) ** 0.5
            cy, cx = at + (wind + own) * (t - birth)
            d = ((ys - cy) * stretch) ** 2 + ((xs - cx) / stretch) ** 2
            frames[t] = np.maximum(frames[t], amp * np.exp(-d / (2 * radius ** 2)))
    frames += rng.normal(0, 1.5, frames.shape)
    codes = np.clip((np.clip(frames, -32, 70) + 32) / 0.5, 0, 255).astype(np.uint8)
    codes[frames < 3] = 0
    return codes


if __name__ == "__main__":
    rng = np.random.default_rng(7)
    for part, n in (("train", 9), ("val", 2)):
        os.makedirs(f"data/{part}", exist_ok=True)
        for k in range(n):
            codes = day(rng)
            np.savez_compressed(f"data/{part}/composite_2019{6 + (part == 'val'):02d}{k + 1:02d}.npz", dbz=codes,
                                wet_fraction=(codes > 84).mean((1, 2)).astype(np.float32))
