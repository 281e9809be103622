"""Writes data/nasdaq100_padding.csv: 81 stock columns and NDX, minute prices (the real one has 40560 rows; rows are argument 1), and the folder plots."""
import os
import sys
import numpy as np
import pandas as pd

n = int(sys.argv[1]) if len(sys.argv) > 1 else 7000
rng = np.random.default_rng(0)
os.makedirs("data", exist_ok=True)
os.makedirs("plots", exist_ok=True)
p = 20 * np.exp(np.cumsum(rng.normal(0, 4e-4, (n, 81)), 0)) * rng.uniform(1, 8, 81)
d = pd.DataFrame(p.round(2), columns=[f"S{i}" for i in range(81)])
d["NDX"] = (p.mean(1) * 50).round(3)
d.to_csv("data/nasdaq100_padding.csv", index=False)
