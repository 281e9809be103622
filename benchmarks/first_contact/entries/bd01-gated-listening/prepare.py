"""Stand-in for the Amazon CDs item sequences: same numbers of users and items, similar lengths."""
import os
import pickle

import numpy as np

users, items = 17052, 35118
rng = np.random.RandomState(7)
folder = './data/dataset/Amazon/CDs/'
os.makedirs(folder, exist_ok=True)
lengths = np.clip(rng.geometric(1 / 18.0, size=users) + 9, 10, 400)
popular = 1.0 / (np.arange(items) + 30.0) ** 0.8
cdf = np.cumsum(popular) / popular.sum()
names = rng.permutation(items)
records = []
for n in lengths:
    drawn = names[np.searchsorted(cdf, rng.rand(3 * n))]
    _, first = np.unique(drawn, return_index=True)
    records.append([int(i) for i in drawn[np.sort(first)][:n]])
for what, value in (('item_sequences', records), ('user_mapping', ['u%d' % u for u in range(users)]),
                    ('item_mapping', ['i%d' % i for i in range(items)])):
    with open(folder + 'CDs_%s.pkl' % what, 'wb') as f:
        pickle.dump(value, f, protocol=3)
