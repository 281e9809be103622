# writes data/load/load.csv: made-up hourly loads of 7 meters in the form of the repository's custom data set
import os
import numpy as np
import pandas as pd

rng = np.random.default_rng(3)
n = 1500
t = np.arange(n)
cols = {'date': pd.date_range('2019-01-01', periods=n, freq='h').strftime('%Y-%m-%d %H:%M:%S')}
slow = np.cumsum(rng.normal(0, 0.05, n))
for i, name in enumerate(['HUFL', 'HULL', 'MUFL', 'MULL', 'LUFL', 'LULL', 'OT']):
    day = np.sin(2 * np.pi * (t / 24 + rng.random())) * rng.uniform(1, 4)
    week = np.sin(2 * np.pi * (t / 168 + rng.random())) * rng.uniform(0.3, 1.5)
    cols[name] = np.round(10 + day + week + slow * rng.uniform(0.5, 1.5) + rng.normal(0, 0.4, n), 4)
os.makedirs('data/load', exist_ok=True)
pd.DataFrame(cols).to_csv('data/load/load.csv', index=False)
