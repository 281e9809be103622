"""Writes data/exchange_rate.txt: 8 columns of daily rates, comma separated (the real one has 7588 rows; rows are argument 1), and the folder save."""
import os
import sys
import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 7588
rng = np.random.default_rng(0)
os.makedirs("data", exist_ok=True)
os.makedirs("save", exist_ok=True)
x = rng.uniform(.2, 2, 8) * np.exp(np.cumsum(rng.normal(0, .004, (n, 8)), 0))
np.savetxt("data/exchange_rate.txt", x, delimiter=",", fmt="%.6f")
