"""Writes ml-20m/pro_sg with 5000 made-up users (4000 + 500 + 500) and 3000 films in the files that data.py of the
repository writes from MovieLens (unique_sid.txt, train.csv, validation_tr.csv, validation_te.csv, test_tr.csv, test_te.csv)."""
import os
import numpy as np
import pandas as pd

rng = np.random.default_rng(8)
n_items, n_users = 3000, 5000
out = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'ml-20m', 'pro_sg')
os.makedirs(out, exist_ok=True)
pop = 1.0 / (np.arange(n_items) + 20.0) ** 0.8
rng.shuffle(pop)
genre = rng.integers(0, 12, n_items)
taste = rng.dirichlet(np.full(12, 0.3), n_users)
with open(os.path.join(out, 'unique_sid.txt'), 'w') as f:
    for i in range(n_items):
        f.write('%d\n' % (i + 1))


def rows(users, split):
    tr, te = [], []
    for u in users:
        p = pop * (0.05 + taste[u][genre])
        n = int(np.clip(rng.lognormal(3.9, 0.7), 8, 400))
        items = rng.choice(n_items, n, replace=False, p=p / p.sum())
        k = n // 5 if split else 0
        tr += [(u, i) for i in items[k:]]
        te += [(u, i) for i in items[:k]]
    return pd.DataFrame(tr, columns=['uid', 'sid']), pd.DataFrame(te, columns=['uid', 'sid'])


tr, _ = rows(range(4000), False)
tr.to_csv(os.path.join(out, 'train.csv'), index=False)
print(len(tr), 'training interactions')
for name, users in (('validation', range(4000, 4500)), ('test', range(4500, 5000))):
    a, b = rows(users, True)
    a.to_csv(os.path.join(out, name + '_tr.csv'), index=False)
    b.to_csv(os.path.join(out, name + '_te.csv'), index=False)
