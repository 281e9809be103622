"""Draws photograph-like JPEGs of COCO's size (640 x 480, quality 92, about 110 KB) into data/train/all and data/val/all."""
import os

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

HERE = os.path.dirname(os.path.abspath(__file__))
W, H = 640, 480


def clouds(rng, cells):
    small = rng.integers(0, 256, (cells * 3 // 4 + 2, cells + 2, 3)).astype(np.uint8)
    return np.asarray(Image.fromarray(small).resize((W, H), Image.BICUBIC), np.float32)


def photo(rng):
    x = np.zeros((H, W, 3), np.float32)
    for cells, weight in ((4, 0.5), (16, 0.25), (64, 0.17), (160, 0.08)):
        x += weight * clouds(rng, cells)
    img = Image.fromarray(x.clip(0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(img)
    for _ in range(int(rng.integers(4, 14))):
        cx, cy, rx, ry = rng.integers(0, W), rng.integers(0, H), rng.integers(15, 140), rng.integers(15, 140)
        colour = tuple(int(v) for v in rng.integers(0, 256, 3))
        box = (int(cx - rx), int(cy - ry), int(cx + rx), int(cy + ry))
        (draw.ellipse if rng.random() < 0.5 else draw.rectangle)(box, fill=colour)
    img = img.filter(ImageFilter.GaussianBlur(0.8))
    x = np.asarray(img, np.float32) + rng.normal(0, 6.0, (H, W, 1)).astype(np.float32)
    return Image.fromarray(x.clip(0, 255).astype(np.uint8))


def main():
    for part, count, seed in (("train", 160, 1), ("val", 40, 2)):
        folder = os.path.join(HERE, "data", part, "all")
        os.makedirs(folder, exist_ok=True)
        rng = np.random.default_rng(seed)
        for i in range(count):
            photo(rng).save(os.path.join(folder, f"{i:06d}.jpg"), quality=92)


if __name__ == "__main__":
    main()
