"""Draws stand-in otolith sections (rings on a dark field) and the catch table."""
import csv
import os

import numpy as np
from PIL import Image

HERE = os.path.dirname(os.path.abspath(__file__))
SIDE = 160
FISH = 400
MAX_AGE = 30


def section(rng, age):
    ys, xs = np.mgrid[0:SIDE, 0:SIDE].astype(np.float32)
    cy, cx = SIDE / 2 + rng.normal(0, 5, 2)
    angle = np.arctan2(ys - cy, xs - cx)
    wobble = 1 + 0.08 * np.cos(2 * angle + rng.uniform(0, 6)) + 0.03 * np.cos(5 * angle + rng.uniform(0, 6))
    radius = np.hypot(ys - cy, (xs - cx) / rng.uniform(1.0, 1.3)) / wobble
    edge = 24 + 44 * (1 - np.exp(-0.12 * (age + 1)))
    phase = np.clip(radius / edge, 0, 1) ** 1.5 * (age + 1)
    image = 110 + 45 * np.cos(2 * np.pi * phase)
    image[radius > edge] = 25
    image += 30 * (xs / SIDE - 0.5) * rng.normal() + 30 * (ys / SIDE - 0.5) * rng.normal()
    image += rng.normal(0, 6, image.shape)
    return Image.fromarray(np.clip(image, 0, 255).astype(np.uint8))


def main():
    rng = np.random.default_rng(20)
    os.makedirs(os.path.join(HERE, "sections"), exist_ok=True)
    with open(os.path.join(HERE, "catch.csv"), "w", newline="") as f:
        table = csv.writer(f)
        table.writerow(["file", "reader_a", "reader_b", "reader_c", "length_cm", "mass_g", "female", "month"])
        for i in range(FISH):
            age = int(np.clip(rng.gamma(3.0, 3.2), 0, MAX_AGE))
            length = 62 * (1 - np.exp(-0.14 * (age + 1.2))) * rng.normal(1, 0.06)
            readings = np.clip(age + rng.integers(-1, 2, 3) * (rng.random(3) < 0.1 + 0.02 * age), 0, MAX_AGE)
            mass = 0.011 * length ** 3.02 * rng.normal(1, 0.08)
            name = f"oto_{i:04d}.png"
            section(rng, age).save(os.path.join(HERE, "sections", name))
            table.writerow([name, *readings, f"{length:.1f}", f"{mass:.0f}", int(rng.random() < 0.5), int(rng.integers(1, 13))])


if __name__ == "__main__":
    main()
