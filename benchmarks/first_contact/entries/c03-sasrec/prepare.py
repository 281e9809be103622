"""Writes data/ml-1m.txt: lines 'user item', in time order per user, with the length and popularity skew of MovieLens-1M, fewer users (argument 1)."""
import os
import sys
import numpy as np

rng = np.random.default_rng(0)
users = int(sys.argv[1]) if len(sys.argv) > 1 else 600
items = 3416
pop = 1 / (np.arange(items) + 20.0) ** 0.9
pop /= pop.sum()
os.makedirs("data", exist_ok=True)
with open("data/ml-1m.txt", "w") as f:
    for u in range(1, users + 1):
        n = int(np.clip(rng.lognormal(4.6, 1.0), 20, 2000))
        for i in rng.choice(items, size=n, replace=False, p=pop):
            f.write(f"{u} {i + 1}\n")
