"""Writes Data/ml-1m/: made-up ratings in the form of MovieLens-1M (a tenth of its users, all of its movies)."""
import os
import numpy as np

rng = np.random.RandomState(5)
here = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'Data', 'ml-1m')
os.makedirs(here, exist_ok=True)
USERS, ITEMS = 604, 3706
pop = 1.0 / (np.arange(ITEMS) + 40.0) ** 0.9
genre = rng.randint(0, 18, ITEMS)
perm = rng.permutation(ITEMS)
with open(os.path.join(here, 'ratings.dat'), 'w') as f:
    for u in range(1, USERS + 1):
        n = int(np.clip(np.exp(rng.normal(4.55, 0.98)), 20, 1800))
        taste = rng.dirichlet(np.full(18, 0.35))
        p = pop * (0.02 + taste[genre])
        items = rng.choice(ITEMS, n, replace=False, p=p / p.sum())
        stamps = np.sort(rng.randint(0, 4000, n)) + 956703932 + rng.randint(0, 30000000)
        stars = np.clip(np.round(rng.normal(3.6, 1.1, n)), 1, 5).astype(int)
        for i, s, t in zip(items, stars, stamps):
            f.write('%d::%d::%d::%d\n' % (u, perm[i] + 1, s, t))
for name in ('README', 'movies.dat', 'users.dat'):
    open(os.path.join(here, name), 'w').close()
