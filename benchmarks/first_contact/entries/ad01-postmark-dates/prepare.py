"""Draws postmark strips with an eight-digit date and writes them as PNG files with a label list."""
import csv
import os

import numpy as np
from PIL import Image, ImageDraw, ImageFont

WIDTH, HEIGHT = 208, 56


def strip(rng, text, font):
    ink = int(rng.integers(20, 90))
    paper = int(rng.integers(170, 240))
    image = Image.new("L", (WIDTH, HEIGHT), paper)
    draw = ImageDraw.Draw(image)
    x = int(rng.integers(6, 14))
    for char in text:
        draw.text((x, int(rng.integers(8, 18))), char, fill=ink, font=font)
        x += 24 + int(rng.integers(-1, 2))
    for _ in range(3):
        a = int(rng.integers(0, HEIGHT))
        b = int(rng.integers(0, HEIGHT))
        draw.line((0, a, WIDTH, b), fill=int(rng.integers(60, 160)), width=1)
    pixels = np.asarray(image, dtype=np.int16)
    grain = rng.integers(-6, 7, pixels.shape)
    return Image.fromarray((pixels + grain).clip(0, 255).astype(np.uint8))


def main():
    rng = np.random.default_rng(17)
    font = ImageFont.load_default(size=30)
    for split, count in (("train", 1920), ("val", 288)):
        os.makedirs(f"strips/{split}", exist_ok=True)
        rows = []
        for i in range(count):
            text = f"{rng.integers(1, 29):02d}{rng.integers(1, 13):02d}{rng.integers(1880, 1965):04d}"
            name = f"{split}/{i:05d}.png"
            strip(rng, text, font).save(f"strips/{name}")
            rows.append((name, text))
        with open(f"strips/{split}.csv", "w", newline="") as f:
            writer = csv.writer(f)
            writer.writerow(("file", "date"))
            writer.writerows(rows)


if __name__ == "__main__":
    main()
