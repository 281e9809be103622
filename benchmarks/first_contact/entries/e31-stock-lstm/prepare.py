"""Run once in the fetched folder: a synthetic daily stock table with the original columns; stand-ins for sklearn and matplotlib."""
import os
import numpy as np
import pandas as pd

rng = np.random.default_rng(8)
n = 3000
close = 2000 * np.exp(np.cumsum(rng.normal(2e-4, .012, n)))
op = close * (1 + rng.normal(0, .006, n))
hi, lo = np.maximum(op, close) * (1 + abs(rng.normal(0, .005, n))), np.minimum(op, close) * (1 - abs(rng.normal(0, .005, n)))
vol = np.exp(rng.normal(22, .4, n))
os.makedirs("data", exist_ok=True)
pd.DataFrame({"index_code": ["sh000001"] * n, "date": pd.bdate_range("2004-01-05", periods=n).strftime("%Y/%m/%d"),
              "open": op, "close": close, "low": lo, "high": hi, "volume": vol, "money": vol * close,
              "change": np.r_[0, close[1:] / close[:-1] - 1], "label": np.r_[close[1:], close[-1]]}).round(5).to_csv("data/stock_data.csv", index=False)
for path, text in {"matplotlib/__init__.py": "", "matplotlib/pyplot.py": "def __getattr__(name):\n    return lambda *a, **k: None\n", "sklearn/__init__.py": "",
                   "sklearn/model_selection.py": '''import numpy as np


def train_test_split(*arrays, test_size=.25, random_state=None, shuffle=True):
    n = len(arrays[0])
    m = int(np.ceil(n * test_size))
    ix = np.random.RandomState(random_state).permutation(n) if shuffle else np.r_[n - m:n, 0:n - m]
    out = []
    for a in arrays:
        out += [a[ix[m:]], a[ix[:m]]]
    return out
'''}.items():
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "w") as f:
        f.write(text)
