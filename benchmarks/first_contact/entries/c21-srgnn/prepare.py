"""Writes datasets/sample/train.txt and test.txt: pickled (sessions, targets), items 1..309, session lengths as in Diginetica (mean 5, up to 40), one line per prefix."""
import os
import pickle
import numpy as np

rng = np.random.default_rng(0)


def part(n):
    x, y = [], []
    while len(x) < n:
        k = int(min(2 + rng.geometric(0.22), 41))
        s = (rng.zipf(1.3, k) % 309 + 1).tolist()
        for i in range(1, k):
            x.append(s[:-i])
            y.append(s[-i])
    return x[:n], y[:n]


os.makedirs("datasets/sample", exist_ok=True)
for f, n in (("train", 8000), ("test", 1200)):
    with open(f"datasets/sample/{f}.txt", "wb") as fd:
        pickle.dump(part(n), fd)
