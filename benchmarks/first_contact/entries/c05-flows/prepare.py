"""Writes data/power/data.npy: household power consumption, 8 float columns (the real one has 2,049,280 rows; rows are argument 1)."""
import os
import sys
import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 60000
rng = np.random.default_rng(0)
g = rng.gamma(1.2, 0.9, n)
d = np.stack([g, rng.gamma(1.0, 0.12, n), rng.normal(240, 3, n), g * 4.2 + rng.normal(0, .1, n), rng.integers(0, 40, n), rng.integers(0, 30, n), rng.integers(0, 20, n), rng.uniform(0, 1440, n)], 1)
os.makedirs("data/power", exist_ok=True)
np.save("data/power/data.npy", d)
