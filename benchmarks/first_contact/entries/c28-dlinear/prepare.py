"""Writes data/ETT/ETTh1.csv: date and 7 columns, 17420 hourly rows, as the real file has."""
import os
import numpy as np
import pandas as pd

rng = np.random.default_rng(0)
n = 17420
os.makedirs("data/ETT", exist_ok=True)
t = np.arange(n)[:, None]
x = 5 * np.sin(2 * np.pi * t / 24 + rng.uniform(0, 6, 7)) + 2 * np.sin(2 * np.pi * t / 168) + np.cumsum(rng.normal(0, .05, (n, 7)), 0) + rng.normal(0, .5, (n, 7))
d = pd.DataFrame(x.round(4), columns=["HUFL", "HULL", "MUFL", "MULL", "LUFL", "LULL", "OT"])
d.insert(0, "date", pd.date_range("2016-07-01", periods=n, freq="h").strftime("%Y-%m-%d %H:%M:%S"))
d.to_csv("data/ETT/ETTh1.csv", index=False)
