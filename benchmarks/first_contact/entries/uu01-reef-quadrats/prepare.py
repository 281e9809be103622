"""Makes the reef quadrat survey: JPEG photographs of the sea floor and labels.csv (which taxa are in the picture)."""
import csv
import os

import numpy as np
from PIL import Image, ImageDraw, ImageFilter

TAXA = ["acropora", "porites", "pocillopora", "montipora", "sponge", "gorgonian",
        "turf_algae", "macroalgae", "urchin", "clam", "sand", "rubble"]


def paint(rng, present):
    base = Image.fromarray(rng.integers(40, 110, (30, 40, 3), dtype=np.uint8)).resize((640, 480), Image.BICUBIC)
    draw = ImageDraw.Draw(base)
    for kind in np.flatnonzero(present):
        colour = tuple(int(v) for v in np.random.default_rng(kind + 100).integers(60, 255, 3))
        for _ in range(int(rng.integers(2, 6))):
            x, y = int(rng.integers(0, 560)), int(rng.integers(0, 400))
            w, h = int(rng.integers(30, 140)), int(rng.integers(30, 140))
            if kind % 3 == 0:
                draw.ellipse((x, y, x + w, y + h), fill=colour)
            elif kind % 3 == 1:
                draw.rectangle((x, y, x + w, y + h), outline=colour, width=9)
            else:
                for k in range(0, w, 14):
                    draw.line((x + k, y, x + w - k, y + h), fill=colour, width=4)
    base = base.filter(ImageFilter.GaussianBlur(1.0))
    grain = rng.normal(0, 6, (480, 640, 3))
    return Image.fromarray(np.clip(np.asarray(base) + grain, 0, 255).astype(np.uint8))


def main():
    rng = np.random.default_rng(7)
    os.makedirs("data/photos", exist_ok=True)
    rows = []
    for number in range(400):
        present = rng.random(len(TAXA)) < 0.28
        name = f"quadrat_{number:04d}.jpg"
        paint(rng, present).save(os.path.join("data/photos", name), quality=90)
        split = "train" if number < 320 else "val"
        rows.append([name, split] + [int(v) for v in present])
    with open("data/labels.csv", "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["file", "split"] + TAXA)
        writer.writerows(rows)


if __name__ == "__main__":
    main()
