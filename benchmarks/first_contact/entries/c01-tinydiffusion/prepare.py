"""Writes static/DatasaurusDozen.tsv: columns dataset, x, y; 142 points a set, values 0..100, as the real file has."""
import os
import numpy as np

rng = np.random.default_rng(0)
os.makedirs("static", exist_ok=True)
with open("static/DatasaurusDozen.tsv", "w") as f:
    f.write("dataset\tx\ty\n")
    for name in ("dino", "away", "star", "circle"):
        t = np.sort(rng.uniform(0, 2 * np.pi, 142))
        r = 30 + 8 * np.sin(3 * t)
        for x, y in zip(54 + r * np.cos(t), 48 + r * np.sin(t)):
            f.write(f"{name}\t{x:.4f}\t{y:.4f}\n")
