"""Writes data/ml-1m.train.rating, .test.rating and .test.negative in the format of the NCF data, with fewer users (argument 1)."""
import os
import sys
import numpy as np

users = int(sys.argv[1]) if len(sys.argv) > 1 else 300
items = 3706
rng = np.random.default_rng(0)
pop = 1 / (np.arange(items) + 20.0) ** 0.9
pop /= pop.sum()
os.makedirs("data", exist_ok=True)
with open("data/ml-1m.train.rating", "w") as tr, open("data/ml-1m.test.rating", "w") as te, open("data/ml-1m.test.negative", "w") as ne:
    for u in range(users):
        n = int(np.clip(rng.lognormal(4.6, 0.9), 20, 1500))
        ii = rng.choice(items, size=n + 1, replace=False, p=pop)
        for i in ii[1:]:
            tr.write(f"{u}\t{i}\t{rng.integers(1, 6)}\t{978300000 + rng.integers(10**6)}\n")
        if u == 0:
            tr.write(f"{u}\t{items - 1}\t3\t978300000\n")
        te.write(f"{u}\t{ii[0]}\t4\t978400000\n")
        seen = set(ii.tolist())
        neg = [j for j in rng.integers(0, items, 300).tolist() if j not in seen][:99]
        ne.write(f"({u},{ii[0]})\t" + "\t".join(map(str, neg)) + "\n")
