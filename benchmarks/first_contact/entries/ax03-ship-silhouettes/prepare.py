"""Draws ship silhouettes (profile views at dusk) and packs them as zlib streams into one shard with an index."""
import os
import zlib

import numpy as np

CLASSES = ["tanker", "container", "ferry", "trawler", "tug", "yacht", "frigate", "bulk", "cruise", "dredger"]
SIDE = 72


def hull(rng, length, height, base):
    yy, xx = np.mgrid[0:SIDE, 0:SIDE]
    left = (SIDE - length) / 2 + rng.uniform(-4, 4)
    rake = rng.uniform(2, 6)
    inside = (yy > base - height) & (yy < base)
    slope = (base - yy) / max(height, 1) * rake
    return inside & (xx > left - slope) & (xx < left + length + slope), left


def draw(kind, rng):
    sky = np.linspace(rng.uniform(90, 140), rng.uniform(150, 210), SIDE)[:, None] * np.ones((1, SIDE))
    base = 48 + rng.uniform(-3, 3)
    sky[int(base):] = np.linspace(rng.uniform(60, 90), 40, SIDE - int(base))[:, None]
    length = [56, 58, 46, 30, 22, 18, 50, 54, 58, 40][kind] * rng.uniform(0.9, 1.08)
    height = [5, 6, 8, 6, 5, 3, 5, 6, 9, 6][kind] * rng.uniform(0.85, 1.15)
    mask, left = hull(rng, length, height, base)

    def box(x0, x1, h0, h1):
        mask[int(base - height - h1):int(base - height - h0) + 1, max(0, int(left + x0 * length)):int(left + x1 * length) + 1] = True

    if kind in (0, 7):
        box(0.82, 0.95, 0, 9)
        if kind == 7:
            for x in (0.15, 0.35, 0.55):
                box(x, x + 0.02, 0, 8)
    elif kind == 1:
        for x in np.arange(0.08, 0.75, 0.11):
            box(x, x + 0.09, 0, rng.integers(4, 11))
        box(0.8, 0.9, 0, 13)
    elif kind == 2:
        box(0.1, 0.9, 0, 6); box(0.4, 0.55, 6, 11)
    elif kind == 3:
        box(0.6, 0.8, 0, 7); box(0.3, 0.34, 0, 14)
    elif kind == 4:
        box(0.3, 0.6, 0, 7); box(0.4, 0.48, 7, 13)
    elif kind == 5:
        box(0.45, 0.49, 0, 26)
    elif kind == 6:
        box(0.35, 0.5, 0, 8); box(0.42, 0.45, 8, 18); box(0.12, 0.2, 0, 3); box(0.6, 0.7, 0, 5)
    elif kind == 8:
        box(0.05, 0.95, 0, 7); box(0.12, 0.85, 7, 11); box(0.6, 0.68, 11, 16)
    else:
        box(0.1, 0.14, 0, 16); box(0.7, 0.85, 0, 8); box(0.14, 0.5, 9, 10)
    image = np.where(mask, rng.uniform(15, 45), sky)
    image = image + rng.normal(0, 2.0, (SIDE, SIDE)).round()
    return image.clip(0, 255).astype(np.uint8)


def main():
    rng = np.random.default_rng(31)
    os.makedirs("data", exist_ok=True)
    for split, count in (("train", 6000), ("valid", 600)):
        labels = rng.integers(0, len(CLASSES), count)
        offsets = np.zeros(count + 1, dtype=np.int64)
        with open(f"data/{split}.shard", "wb") as f:
            for i, kind in enumerate(labels):
                f.write(zlib.compress(draw(int(kind), rng).tobytes(), 6))
                offsets[i + 1] = f.tell()
        np.savez(f"data/{split}.index.npz", offsets=offsets, labels=labels)


if __name__ == "__main__":
    main()
