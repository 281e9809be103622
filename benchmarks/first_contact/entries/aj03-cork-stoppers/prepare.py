"""Draw a stand-in for the camera bench: one 72 x 72 RGB picture of the side of each natural cork stopper,
with lenticels (the dark pores), now and then a wormhole, a green streak or a belly of hard wood, under an
uneven lamp. Grades run from 0 (flor) to 4 (third). Writes images/*.npy and stoppers.csv."""

from pathlib import Path

import numpy as np
import pandas as pd

SIDE = 72
COUNT = 1200
HERE = Path(__file__).parent


def draw(rng, yy, xx):
    grade = int(rng.integers(0, 5))
    base = np.array([0.78, 0.62, 0.44]) + rng.normal(0, 0.03, 3)
    picture = np.ones((SIDE, SIDE, 3)) * base
    grain = rng.normal(0, 0.02, (SIDE, 1, 1)) + rng.normal(0, 0.025, (SIDE, SIDE, 1))
    picture += grain
    for _ in range(rng.poisson(2 + 3.5 * grade)):
        cy, cx = rng.uniform(4, SIDE - 4, 2)
        long, wide = rng.uniform(2, 4 + 1.6 * grade), rng.uniform(0.6, 1.6)
        angle = rng.normal(0, 0.25)
        u = (xx - cx) * np.cos(angle) + (yy - cy) * np.sin(angle)
        v = -(xx - cx) * np.sin(angle) + (yy - cy) * np.cos(angle)
        pore = np.exp(-((u / long) ** 2 + (v / wide) ** 2))
        picture -= pore[..., None] * rng.uniform(0.25, 0.5) * np.array([1.0, 0.95, 0.8])
    if grade >= 3 and rng.random() < 0.5:
        cy, cx = rng.uniform(10, SIDE - 10, 2)
        picture -= (((yy - cy) ** 2 + (xx - cx) ** 2) < rng.uniform(4, 12))[..., None] * 0.5
    if rng.random() < 0.1 * grade:
        cx = rng.uniform(5, SIDE - 5)
        picture += np.exp(-(((xx - cx) / 3) ** 2))[..., None] * np.array([-0.12, 0.02, -0.05])
    lamp = 1 + rng.uniform(-0.25, 0.25) * (xx / SIDE - 0.5) + rng.uniform(-0.25, 0.25) * (yy / SIDE - 0.5)
    picture = np.clip(picture * lamp[..., None] + rng.normal(0, 0.015, picture.shape), 0, 1)
    return (picture * 255).astype(np.uint8), grade


def main():
    rng = np.random.default_rng(417)
    folder = HERE / "images"
    folder.mkdir(exist_ok=True)
    yy, xx = np.mgrid[0:SIDE, 0:SIDE].astype(float)
    rows = []
    for number in range(COUNT):
        picture, grade = draw(rng, yy, xx)
        name = f"cork_{number:05d}.npy"
        np.save(folder / name, picture)
        rows.append((name, grade, rng.choice(["alentejo", "sardinia", "ribatejo"]), "train" if number < 960 else "val"))
    pd.DataFrame(rows, columns=["file", "grade", "origin", "split"]).to_csv(HERE / "stoppers.csv", index=False)


if __name__ == "__main__":
    main()
