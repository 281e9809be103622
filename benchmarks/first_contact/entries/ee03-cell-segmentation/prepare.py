"""Writes data/{train,val}/{images,masks}: microscope-like tiles with instance masks."""
from pathlib import Path

import numpy as np
from PIL import Image
from scipy import ndimage

SIZE = 128


def tile(rng):
    mask = np.zeros((SIZE, SIZE), dtype=np.uint16)
    image = np.full((SIZE, SIZE), 0.25) + ndimage.gaussian_filter(rng.normal(0, 1, (SIZE, SIZE)), 18) * 0.8
    rows, columns = np.mgrid[:SIZE, :SIZE]
    number = 0
    for _ in range(int(rng.integers(11, 17))):
        y, x = rng.uniform(6, SIZE - 6, 2)
        a, b = rng.uniform(9, 17, 2)
        angle = rng.uniform(0, np.pi)
        u = (rows - y) * np.cos(angle) + (columns - x) * np.sin(angle)
        v = -(rows - y) * np.sin(angle) + (columns - x) * np.cos(angle)
        radius = (u / a) ** 2 + (v / b) ** 2
        body = (radius < 1) & (mask == 0)
        if body.sum() < 120:
            continue
        number += 1
        mask[body] = number
        image[body] += 0.18 + 0.22 * (radius[body]) ** 2 + rng.normal(0, 0.03)
    image = ndimage.gaussian_filter(image, 0.8) + rng.normal(0, 0.03, image.shape)
    return (np.clip(image, 0, 1) * 255).astype(np.uint8), mask


def main():
    rng = np.random.default_rng(11)
    for part, count in [("train", 160), ("val", 32)]:
        for kind in ["images", "masks"]:
            Path("data", part, kind).mkdir(parents=True, exist_ok=True)
        for number in range(count):
            image, mask = tile(rng)
            Image.fromarray(image).save(f"data/{part}/images/{number:04d}.png")
            Image.fromarray(mask).save(f"data/{part}/masks/{number:04d}.png")


if __name__ == "__main__":
    main()
