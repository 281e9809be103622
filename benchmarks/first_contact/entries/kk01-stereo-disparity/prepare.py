"""Write a small synthetic stereo set: left/right PNG and disparity (npz, float16) for each scene."""
import argparse
from pathlib import Path

import numpy as np
from PIL import Image
from scipy.ndimage import gaussian_filter

HEIGHT, WIDTH, MAX_DISP = 240, 400, 44


def texture(rng, h, w):
    canvas = np.zeros((h, w, 3), np.float32)
    for sigma, weight in ((0.8, 0.25), (2.5, 0.5), (9.0, 1.2)):
        noise = gaussian_filter(rng.standard_normal((h, w, 3)).astype(np.float32), (sigma, sigma, 0))
        canvas += weight * noise / noise.std()
    return canvas


def scene(rng):
    base = rng.uniform(3, 8)
    slope = rng.uniform(0, 12)
    disp = np.broadcast_to(base + slope * np.linspace(0, 1, HEIGHT, dtype=np.float32)[:, None], (HEIGHT, WIDTH)).copy()
    left = texture(rng, HEIGHT, WIDTH + MAX_DISP + 4)[:, :WIDTH]
    yy, xx = np.mgrid[:HEIGHT, :WIDTH]
    for _ in range(rng.integers(4, 9)):
        cy, cx = rng.uniform(0, HEIGHT), rng.uniform(0, WIDTH)
        ry, rx = rng.uniform(20, 80, 2)
        inside = ((yy - cy) / ry) ** 2 + ((xx - cx) / rx) ** 2 < 1
        disp[inside] = np.maximum(disp[inside], rng.uniform(10, MAX_DISP - 2))
        left[inside] = texture(rng, HEIGHT, WIDTH)[inside] + rng.uniform(-1, 1, 3)
    right = np.zeros_like(left)
    filled = np.full((HEIGHT, WIDTH), -1.0, np.float32)
    for x in range(WIDTH):
        target = np.round(x - disp[:, x]).astype(int)
        ok = (target >= 0) & (disp[:, x] > filled[np.arange(HEIGHT), np.clip(target, 0, None)])
        rows = np.nonzero(ok)[0]
        right[rows, target[rows]] = left[rows, x]
        filled[rows, target[rows]] = disp[rows, x]
    holes = filled < 0
    right[holes] = texture(rng, HEIGHT, WIDTH)[holes] * 0.4
    to8 = lambda a: np.clip(118 + 42 * a, 0, 255).astype(np.uint8)
    return to8(left), to8(right), disp


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="data/stereo")
    parser.add_argument("--train", type=int, default=80)
    parser.add_argument("--val", type=int, default=4)
    args = parser.parse_args()
    rng = np.random.default_rng(20)
    for split, count in (("train", args.train), ("val", args.val)):
        for kind in ("left", "right", "disp"):
            (Path(args.out) / split / kind).mkdir(parents=True, exist_ok=True)
        for i in range(count):
            left, right, disp = scene(rng)
            root = Path(args.out) / split
            Image.fromarray(left).save(root / "left" / f"{i:05d}.png")
            Image.fromarray(right).save(root / "right" / f"{i:05d}.png")
            np.savez_compressed(root / "disp" / f"{i:05d}.npz", disp=disp.astype(np.float16))


if __name__ == "__main__":
    main()
