"""Synthetic Criteo-like rows (13 counts, 26 categories) in the layout of the repository's preprocessing."""
import os

import numpy as np

rng = np.random.RandomState(0)
os.makedirs("data", exist_ok=True)
sizes = [1] * 13 + [int(s) for s in rng.choice([20, 100, 500, 2000, 5000], 26)]
n = 10001
cols = [rng.geometric(0.2, n) for _ in range(13)] + [rng.randint(0, s, n) for s in sizes[13:]]
y = (rng.rand(n) < 0.25).astype(int)
rows = np.stack(cols + [y], 1)
np.savetxt("data/train.txt", rows, fmt="%d", delimiter=",")
np.savetxt("data/test.txt", rows[:500], fmt="%d", delimiter=",")
open("data/feature_sizes.txt", "w").write(",".join(map(str, sizes)) + "\n")
