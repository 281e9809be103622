"""Writes made-up interactions in the format of the repository's data/gowalla
(one user a line: user id, then the items)."""
import os
import numpy as np

rng = np.random.default_rng(5)
out = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'data', 'gowalla')
os.makedirs(out, exist_ok=True)
U, I, G = 1550, 2400, 12
pop = rng.zipf(1.35, I).clip(1, 400).astype(float)
group = rng.integers(0, G, I)
train, test, seen = [], [], set()
for u in range(U):
    w = pop * np.where(group == rng.integers(0, G), 9.0, 1.0)
    n = int(np.clip(np.exp(rng.normal(np.log(26), 0.6)), 10, 180))
    items = rng.choice(I, size=n, replace=False, p=w / w.sum())
    k = max(1, int(0.8 * n))
    train.append(items[:k])
    test.append(items[k:])
    seen.update(items[:k].tolist())
for i in set(range(I)) - seen:
    u = int(rng.integers(U))
    train[u] = np.append(train[u], i)
    test[u] = test[u][test[u] != i]
for name, rows in (('train', train), ('test', test)):
    with open(os.path.join(out, name + '.txt'), 'w') as f:
        for u, items in enumerate(rows):
            if len(items):
                f.write(' '.join(map(str, [u, *items])) + '\n')
print(sum(map(len, train)), sum(map(len, test)))
