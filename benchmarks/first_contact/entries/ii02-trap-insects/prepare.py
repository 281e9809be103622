"""Made-up photographs of yellow sticky traps: JPEG files and one COCO-like annotation file per split."""
import argparse
import json
from pathlib import Path

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

SPECIES = ["whitefly", "thrips", "fungus_gnat", "aphid"]
SIZE = {"whitefly": (34, 30), "thrips": (60, 20), "fungus_gnat": (80, 56), "aphid": (46, 46)}
COLOUR = {"whitefly": (240, 240, 235), "thrips": (120, 90, 30), "fungus_gnat": (35, 35, 40), "aphid": (80, 120, 50)}


def photo(rng, width, height):
    base = np.array([225, 200, 40]) + rng.normal(0, 12, 3)
    shade = np.linspace(-20, 20, width)[None, :, None] * rng.uniform(-1, 1) + np.linspace(-20, 20, height)[:, None, None] * rng.uniform(-1, 1)
    image = Image.fromarray(np.clip(base + shade + rng.normal(0, 5, (height, width, 1)), 0, 255).astype(np.uint8))
    draw = ImageDraw.Draw(image)
    for x in range(0, width, 128):
        draw.line([(x, 0), (x, height)], fill=(150, 140, 60), width=2)
    boxes, labels = [], []
    for _ in range(rng.integers(8, 22)):
        k = int(rng.integers(len(SPECIES)))
        w, h = SIZE[SPECIES[k]]
        s = rng.uniform(0.8, 1.5)
        if rng.random() < 0.5:
            w, h = h, w
        w, h = w * s, h * s
        x, y = rng.uniform(0, width - w), rng.uniform(0, height - h)
        colour = tuple(int(np.clip(c + rng.normal(0, 12), 0, 255)) for c in COLOUR[SPECIES[k]])
        draw.ellipse([x, y, x + w, y + h], fill=colour)
        draw.line([x + w / 2, y, x + w / 2, y + h], fill=(20, 20, 20), width=2)
        boxes.append([round(float(v), 1) for v in (x, y, w, h)])
        labels.append(k)
    return image.filter(ImageFilter.GaussianBlur(0.7)), boxes, labels


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path, default=Path("data"))
    parser.add_argument("--train", type=int, default=200)
    parser.add_argument("--val", type=int, default=32)
    parser.add_argument("--width", type=int, default=1024)
    parser.add_argument("--height", type=int, default=768)
    args = parser.parse_args()
    rng = np.random.default_rng(5)
    for split, n in (("train", args.train), ("val", args.val)):
        folder = args.out / split
        folder.mkdir(parents=True, exist_ok=True)
        records = []
        for i in range(n):
            image, boxes, labels = photo(rng, args.width, args.height)
            name = f"trap_{i:04d}.jpg"
            image.save(folder / name, quality=90)
            records.append({"file": name, "width": args.width, "height": args.height, "boxes": boxes, "labels": labels})
        (args.out / f"{split}.json").write_text(json.dumps({"species": SPECIES, "images": records}))


if __name__ == "__main__":
    main()
