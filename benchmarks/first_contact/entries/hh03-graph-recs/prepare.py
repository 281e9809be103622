"""Data/gowalla in the format of the repository: 2000 made-up users, 2700 items, 54000 training and 14500 test visits (29858, 40981, 810128 and 217242 in Gowalla:
the same number of visits a user)."""
import os
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
folder = os.path.join(here, 'Data', 'gowalla')
os.makedirs(folder, exist_ok=True)
os.makedirs(os.path.join(here, 'model'), exist_ok=True)
rng = np.random.RandomState(0)
users, items = 2000, 2700
popular = 1 / (np.arange(items) + 20.0) ** 0.8
group = rng.randint(0, 20, items)
order = rng.permutation(items)
train, test = [], []
for u in range(users):
    n = int(np.clip(rng.lognormal(3.2, 0.65), 8, 400))
    p = popular * np.where(np.isin(group, rng.randint(0, 20, 3)), 6.0, 1.0)
    mine = order[rng.choice(items, n, replace=False, p=p / p.sum())]
    k = max(1, n // 5)
    train.append(' '.join(map(str, [u] + sorted(mine[k:].tolist()))))
    test.append(' '.join(map(str, [u] + sorted(mine[:k].tolist()))))
open(os.path.join(folder, 'train.txt'), 'w').write('\n'.join(train) + '\n')
open(os.path.join(folder, 'test.txt'), 'w').write('\n'.join(test) + '\n')
print(sum(len(t.split()) - 1 for t in train), sum(len(t.split()) - 1 for t in test))
