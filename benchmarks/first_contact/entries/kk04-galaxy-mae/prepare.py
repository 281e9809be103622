"""Render small survey cut-outs of galaxies (ellipses and spirals with noise) into one uint8 array."""
import argparse
from pathlib import Path

import numpy as np

SIZE = 64


def render(rng, count):
    yy, xx = np.mgrid[:SIZE, :SIZE].astype(np.float32) - SIZE / 2 + 0.5
    labels = rng.integers(0, 4, count)
    images = np.empty((count, 3, SIZE, SIZE), np.uint8)
    for i, kind in enumerate(labels):
        angle, q = rng.uniform(0, np.pi), rng.uniform(0.3, 0.95)
        cx, cy = rng.normal(0, 2.0, 2)
        x, y = xx - cx, yy - cy
        u = x * np.cos(angle) + y * np.sin(angle)
        v = (-x * np.sin(angle) + y * np.cos(angle)) / q
        r = np.hypot(u, v)
        scale = rng.uniform(4, 9)
        light = np.exp(-((r / scale) ** (0.5 if kind == 0 else 1.0)) * (3 if kind == 0 else 1))
        if kind >= 2:
            arms = 2 if kind == 2 else 4
            phase = arms * (np.arctan2(v, u) - rng.choice([-1, 1]) * 1.8 * np.log1p(r / 3))
            light = light * (0.55 + 0.45 * np.cos(phase)) + 0.6 * np.exp(-(r / 3) ** 2)
        colour = np.array([1.0, 0.8, 0.55] if kind < 2 else [0.7, 0.8, 1.0]) * rng.uniform(0.85, 1.15, 3)
        picture = light[None] * colour[:, None, None] * rng.uniform(0.6, 1.2)
        for _ in range(rng.integers(0, 4)):
            px, py = rng.uniform(-30, 30, 2)
            picture += rng.uniform(0.2, 0.8) * np.exp(-((xx - px) ** 2 + (yy - py) ** 2) / 2.2)
        picture += rng.normal(0, 0.05, picture.shape)
        images[i] = np.clip(picture * 230 + 12, 0, 255).astype(np.uint8)
    return images, labels


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="data")
    parser.add_argument("--train", type=int, default=6400)
    parser.add_argument("--probe", type=int, default=400)
    args = parser.parse_args()
    rng = np.random.default_rng(33)
    out = Path(args.out)
    out.mkdir(exist_ok=True)
    images, _ = render(rng, args.train)
    np.save(out / "train.npy", images)
    images, labels = render(rng, args.probe)
    np.save(out / "probe.npy", images)
    np.save(out / "probe_labels.npy", labels)


if __name__ == "__main__":
    main()
