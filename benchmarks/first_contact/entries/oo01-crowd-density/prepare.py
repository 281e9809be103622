"""Writes a small synthetic crowd counting set: data/{train,val}/images/*.jpg and data/{train,val}/heads/*.npy (x, y of every head)."""
import argparse
import os

import numpy as np
from PIL import Image, ImageDraw, ImageFilter


def scene(rng, width, height):
    ground = rng.integers(70, 150, size=3)
    ramp = np.linspace(0.7, 1.2, height)[:, None, None]
    canvas = np.clip(ground[None, None, :] * ramp + rng.normal(0, 9, size=(height, width, 3)), 0, 255)
    image = Image.fromarray(canvas.astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for _ in range(rng.integers(4, 12)):
        x, y = rng.integers(0, width), rng.integers(0, height)
        w, h = rng.integers(30, 160), rng.integers(20, 100)
        draw.rectangle([x, y, x + w, y + h], fill=tuple(int(c) for c in rng.integers(40, 210, size=3)))
    image = image.filter(ImageFilter.GaussianBlur(1.5))
    draw = ImageDraw.Draw(image)
    count = int(rng.integers(60, 260))
    centres = rng.uniform([0, 0.15 * height], [width, height], size=(rng.integers(3, 9), 2))
    heads = []
    while len(heads) < count:
        c = centres[rng.integers(len(centres))]
        x, y = rng.normal(c, [width * 0.14, height * 0.12])
        if 3 <= x < width - 3 and 3 <= y < height - 3:
            heads.append((x, y))
    heads = np.array(sorted(heads, key=lambda p: p[1]), dtype=np.float32)
    for x, y in heads:
        r = 2.5 + 6.0 * y / height
        shirt = tuple(int(c) for c in rng.integers(20, 235, size=3))
        skin = tuple(int(c) for c in (np.array([205, 160, 130]) * rng.uniform(0.5, 1.1)))
        draw.ellipse([x - 1.4 * r, y + 0.6 * r, x + 1.4 * r, y + 3.5 * r], fill=shirt)
        draw.ellipse([x - r, y - r, x + r, y + r], fill=skin)
    return image, heads


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="data")
    parser.add_argument("--train", type=int, default=200)
    parser.add_argument("--val", type=int, default=16)
    parser.add_argument("--size", type=int, nargs=2, default=(640, 480))
    args = parser.parse_args()
    rng = np.random.default_rng(20)
    for split, number in (("train", args.train), ("val", args.val)):
        os.makedirs(f"{args.out}/{split}/images", exist_ok=True)
        os.makedirs(f"{args.out}/{split}/heads", exist_ok=True)
        for i in range(number):
            image, heads = scene(rng, *args.size)
            image.save(f"{args.out}/{split}/images/IMG_{i:04d}.jpg", quality=92)
            np.save(f"{args.out}/{split}/heads/IMG_{i:04d}.npy", heads)


if __name__ == "__main__":
    main()
