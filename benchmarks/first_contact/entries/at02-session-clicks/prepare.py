"""datasets/diginetica/train.txt and test.txt as preprocess.py leaves them: pickled (sequences, next items), prefixes of
sessions, 43,097 items with a long tail; 22,000 and 3,000 prefixes (719,470 and 60,858 in the original)."""
import os
import pickle

import numpy as np

rng = np.random.default_rng(5)
items = 43098
rank = rng.permutation(np.arange(1, items))
popular = 1.0 / (np.arange(1, items) + 30.0) ** 0.9
popular /= popular.sum()


def prefixes(n):
    xs, ys = [], []
    while len(xs) < n:
        long = int(min(2 + rng.geometric(0.28), 40))
        if rng.random() < 0.7:
            start = int(rng.integers(1, items - 60))
            session = [start + int(k) for k in rng.integers(0, 60, long)]
        else:
            session = [int(i) for i in rank[rng.choice(items - 1, long, p=popular)]]
        for k in range(1, long):
            xs.append(session[: long - k])
            ys.append(session[long - k])
    return xs[:n], ys[:n]


os.makedirs("datasets/diginetica", exist_ok=True)
for name, n in (("train", 22000), ("test", 3000)):
    with open(f"datasets/diginetica/{name}.txt", "wb") as f:
        pickle.dump(prefixes(n), f)
