"""Writes criteo_sample.txt, made-up rows in the form of the file of the repository."""
import sys

import numpy as np
import pandas as pd

rows = int(sys.argv[1]) if len(sys.argv) > 1 else 10000
rng = np.random.default_rng(7)

# numbers of different values of the 26 columns (of the first 10000 rows of the real data, roughly)
card = [150, 400, 4200, 3100, 75, 10, 2800, 90, 3, 2500, 1700, 3700, 1500, 25, 1600, 3500,
        9, 900, 320, 4, 3600, 9, 13, 2700, 40, 1900]
dense_missing = [.45, 0, .2, .21, .03, .22, .04, 0, .04, .45, .04, .76, .21]
dense_scale = [3, 100, 27, 7, 18000, 110, 16, 12, 105, .6, 2.7, 1, 8]
sparse_missing = {2: .03, 3: .03, 5: .12, 11: .03, 15: .03, 18: .44, 19: .44, 20: .03, 21: .76, 23: .03, 24: .44, 25: .44}

score = np.zeros(rows)
columns = {}
for i in range(13):
    x = np.floor(rng.exponential(dense_scale[i], rows))
    score += .3 * (np.log1p(x) - np.log1p(x).mean())
    x[rng.random(rows) < dense_missing[i]] = np.nan
    columns['I%d' % (i + 1)] = x
for i in range(26):
    names = np.array(['%08x' % v for v in rng.integers(0, 2 ** 32, card[i])], dtype=object)
    p = 1. / (np.arange(card[i]) + 1.) ** .9
    idx = rng.choice(card[i], rows, p=p / p.sum())
    idx[:min(card[i], rows)] = np.arange(min(card[i], rows)) if card[i] < rows // 3 else idx[:min(card[i], rows)]
    score += rng.normal(0, .5, card[i])[idx]
    values = names[idx]
    values[rng.random(rows) < sparse_missing.get(i, 0)] = np.nan
    columns['C%d' % (i + 1)] = values
label = (rng.random(rows) < 1 / (1 + np.exp(-(score - np.quantile(score, .77))))).astype(int)
frame = pd.DataFrame({'label': label, **columns}).sample(frac=1, random_state=1)
frame.to_csv('criteo_sample.txt', index=False)
print(frame.shape, label.mean(), frame.nunique().tolist())
