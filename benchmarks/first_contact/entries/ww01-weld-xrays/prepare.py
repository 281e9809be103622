"""Makes synthetic weld radiographs: images/*.png (8 bit, 640 x 480) and labels.csv."""
import csv
import os

import numpy as np
from PIL import Image, ImageFilter

CLASSES = ["none", "porosity", "crack", "lack_of_fusion", "slag"]


def radiograph(rng, kind):
    y, x = np.mgrid[0:480, 0:640].astype(np.float32)
    centre = 240 + 20 * np.sin(x / 640 * 6.28 * rng.uniform(0.2, 0.8) + rng.uniform(0, 6))
    picture = 90 + 70 * np.exp(-((y - centre) / 70) ** 2)
    picture += 5 * np.sin(x / rng.uniform(6, 10)) * np.exp(-((y - centre) / 60) ** 2)
    if kind == 1:
        for _ in range(rng.integers(6, 14)):
            cx, cy, r = rng.uniform(60, 580), rng.uniform(205, 275), rng.uniform(4, 9)
            picture -= 45 * np.exp(-((x - cx) ** 2 + (y - cy) ** 2) / r ** 2)
    elif kind == 2:
        start, slope = rng.uniform(100, 400), rng.uniform(-0.4, 0.4)
        line = 240 + slope * (x - start)
        picture -= 60 * np.exp(-((y - line) / 3) ** 2) * ((x > start) & (x < start + 150))
    elif kind == 3:
        picture -= 35 * np.exp(-((y - centre - 45) / 6) ** 2) * (x > rng.uniform(50, 300))
    elif kind == 4:
        cx, cy = rng.uniform(100, 540), rng.uniform(215, 265)
        picture -= 50 * np.exp(-((x - cx) / 50) ** 2 - ((y - cy) / 12) ** 2)
    picture += rng.normal(0, 6, picture.shape)
    return Image.fromarray(picture.clip(0, 255).astype(np.uint8)).filter(ImageFilter.GaussianBlur(0.7))


def main():
    rng = np.random.default_rng(20)
    os.makedirs("images", exist_ok=True)
    rows = []
    for number in range(560):
        kind = int(rng.choice(5, p=[0.3, 0.2, 0.15, 0.15, 0.2]))
        name = f"weld_{number:04d}.png"
        radiograph(rng, kind).save(os.path.join("images", name), compress_level=4)
        rows.append([name, CLASSES[kind], "val" if number % 7 == 0 else "train"])
    with open("labels.csv", "w", newline="") as file:
        writer = csv.writer(file)
        writer.writerow(["file", "defect", "split"])
        writer.writerows(rows)


if __name__ == "__main__":
    main()
