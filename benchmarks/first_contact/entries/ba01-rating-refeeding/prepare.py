"""Stand-in for the Netflix three-months split: 17,736 titles, about 44 ratings a user in training."""
import os
import numpy as np

rng = np.random.default_rng(7)
titles, users = 17736, 13000
pop = 1.0 / np.arange(1, titles + 1) ** 0.75
pop = np.cumsum(rng.permutation(pop) / pop.sum())
mean = 3.6 + 0.5 * rng.standard_normal(titles)
os.makedirs("Netflix/NF_TRAIN", exist_ok=True)
os.makedirs("Netflix/NF_VALID", exist_ok=True)
ids = rng.choice(2649429, users, replace=False) + 1
with open("Netflix/NF_TRAIN/nf.train.txt", "w") as train, open("Netflix/NF_VALID/nf.valid.txt", "w") as valid:
    for first in range(1, titles + 1, 40):      # every title is seen once at least
        u = ids[first % users]
        for t in range(first, min(first + 40, titles + 1)):
            train.write("%d\t%d\t%.1f\n" % (u, t, 3.0))
    for k, u in enumerate(ids):
        n = int(np.clip(rng.lognormal(3.25, 1.05), 3, 1500))
        t = np.unique(np.minimum(np.searchsorted(pop, rng.random(n)), titles - 1))
        r = np.clip(np.rint(mean[t] + 0.4 * rng.standard_normal() + 0.9 * rng.standard_normal(len(t))), 1, 5)
        train.write("".join("%d\t%d\t%.1f\n" % (u, a + 1, b) for a, b in zip(t, r)))
        if k % 13 == 0:                          # half of the users in the original; fewer here, for the time
            t = np.unique(np.minimum(np.searchsorted(pop, rng.random(8)), titles - 1))
            valid.write("".join("%d\t%d\t%.1f\n" % (u, a + 1, 4.0) for a in t))
