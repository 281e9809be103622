"""Stand-in for ETTh1: two years of hourly transformer loads and the oil temperature."""
import os

import numpy as np
import pandas as pd

rng = np.random.default_rng(1)
n = 17420
t = np.arange(n)
date = pd.date_range("2016-07-01 00:00:00", periods=n, freq=pd.Timedelta(hours=1))
cols = {}
for name, level, swing in (("HUFL", 7.5, 5.0), ("HULL", 2.2, 1.6), ("MUFL", 4.4, 5.2), ("MULL", 0.9, 1.4), ("LUFL", 3.0, 1.0), ("LULL", 0.9, 0.5)):
    x = level + swing * 0.6 * np.sin(2 * np.pi * (t / 24 + rng.random())) + swing * 0.3 * np.sin(2 * np.pi * (t / 168 + rng.random()))
    x += swing * 0.4 * np.sin(2 * np.pi * (t / 8766 + rng.random()))
    noise = np.zeros(n)
    e = rng.standard_normal(n) * swing * 0.25
    for i in range(1, n):
        noise[i] = 0.7 * noise[i - 1] + e[i]
    cols[name] = x + noise
ot = np.zeros(n)
ot[0] = 30
for i in range(1, n):
    ot[i] = 0.97 * ot[i - 1] + 0.03 * (13 + 9 * np.sin(2 * np.pi * i / 8766) + 0.5 * cols["HUFL"][i]) + 0.4 * rng.standard_normal()
cols["OT"] = ot
os.makedirs("datasets/ETT-data", exist_ok=True)
frame = pd.DataFrame(cols).round(3)
frame.insert(0, "date", date.strftime("%Y-%m-%d %H:%M:%S"))
frame.to_csv("datasets/ETT-data/ETTh1.csv", index=False)
