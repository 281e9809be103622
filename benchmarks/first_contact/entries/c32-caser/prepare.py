"""Writes datasets/ml1m/test/train.txt and test.txt: 'user item rating' in time order, with MovieLens-1M's skews, 3416 items, fewer users (argument 1; the real set has 6040)."""
import os
import sys
import numpy as np

users = int(sys.argv[1]) if len(sys.argv) > 1 else 250
rng = np.random.default_rng(0)
pop = 1 / (np.arange(3416) + 20.0) ** 0.9
pop /= pop.sum()
os.makedirs("datasets/ml1m/test", exist_ok=True)
with open("datasets/ml1m/test/train.txt", "w") as a, open("datasets/ml1m/test/test.txt", "w") as b:
    for i in range(3416):
        a.write(f"{-1 - i % 2} {i} 1\n")
    for u in range(1, users + 1):
        n = int(np.clip(rng.lognormal(4.7, 0.9), 20, 1500))
        ii = rng.choice(3416, size=n, replace=False, p=pop)
        k = int(0.8 * n)
        for j, i in enumerate(ii):
            (a if j < k else b).write(f"{u} {i} 1\n")
