"""Writes data/{train,val}.npy: uint8 pictures (n, 3, size, size) of layered gradients, discs and textures."""
import argparse
import os

import numpy as np


def picture(rng, size):
    y, x = np.mgrid[0:size, 0:size].astype(np.float32) / size
    image = np.empty((3, size, size), dtype=np.float32)
    for c in range(3):
        a, b, o = rng.uniform(-0.6, 0.6, size=3)
        image[c] = 0.5 + o * 0.4 + a * (x - 0.5) + b * (y - 0.5)
    for _ in range(rng.integers(6, 18)):
        cx, cy, r = rng.uniform(0, 1), rng.uniform(0, 1), rng.uniform(0.04, 0.25)
        colour = rng.uniform(0, 1, size=(3, 1))
        stretch = rng.uniform(0.5, 2.0)
        inside = ((x - cx) * stretch) ** 2 + (y - cy) ** 2 < r * r
        fx, fy, phase = rng.uniform(5, 60), rng.uniform(5, 60), rng.uniform(0, 6)
        texture = 0.15 * rng.uniform(0, 1) * np.sin(fx * x + fy * y + phase)[inside]
        image[:, inside] = colour + texture
    image += rng.normal(0, 0.01, size=image.shape)
    return (np.clip(image, 0, 1) * 255).astype(np.uint8)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="data")
    parser.add_argument("--train", type=int, default=320)
    parser.add_argument("--val", type=int, default=12)
    parser.add_argument("--size", type=int, default=192)
    args = parser.parse_args()
    rng = np.random.default_rng(6)
    os.makedirs(args.out, exist_ok=True)
    for split, n in (("train", args.train), ("val", args.val)):
        np.save(f"{args.out}/{split}.npy", np.stack([picture(rng, args.size) for _ in range(n)]))


if __name__ == "__main__":
    main()
