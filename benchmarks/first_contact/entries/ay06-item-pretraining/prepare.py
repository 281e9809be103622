"""Stand-in for LastFM: 1090 users, 3646 items, 388 attributes, about 48 actions a user and 31 attributes an item at most."""
import json
import os

import numpy as np

rng = np.random.default_rng(23)
U, I, A, G = 1090, 3646, 388, 40
genre = rng.integers(0, G, size=I + 1)
pop = 1.0 / (np.arange(I) + 30.0)
pop /= pop.sum()
by_genre = [np.flatnonzero(genre[1:] == g) for g in range(G)]
os.makedirs("data", exist_ok=True)
with open("data/LastFM.txt", "w") as f:
    for u in range(1, U + 1):
        k = int(np.clip(rng.normal(48, 6), 6, 60))
        taste = rng.choice(G, size=3, replace=False)
        items, have = [], set()
        while len(items) < k:
            if rng.random() < 0.7:
                pool = by_genre[taste[rng.integers(3)]]
                p = pop[pool] / pop[pool].sum()
                i = int(rng.choice(pool, p=p)) + 1
            else:
                i = int(rng.choice(I, p=pop)) + 1
            if i not in have or rng.random() < 0.02:
                have.add(i)
                items.append(i)
        f.write("%d %s\n" % (u, " ".join(map(str, items))))
attrs = {}
for i in range(1, I + 1):
    n = int(np.clip(rng.poisson(5) + 1, 1, 31))
    own = (genre[i] * 9 + rng.integers(0, 14, size=n)) % A + 1
    attrs[str(i)] = sorted(set(int(a) for a in own))
attrs["1"] = sorted(set(attrs["1"] + [A]))
with open("data/LastFM_item2attributes.json", "w") as f:
    f.write(json.dumps(attrs))
