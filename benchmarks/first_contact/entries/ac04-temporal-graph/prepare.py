"""Made-up edits of pages by users in the form that utils/preprocess_data.py writes (ml_wikipedia.csv and features)."""
import os

import numpy as np
import pandas as pd

rng = np.random.RandomState(0)
N_USER, N_PAGE, N_EDGE = 1500, 300, 7000
os.makedirs("data", exist_ok=True)
activity = 1 / (np.arange(N_USER) + 8.0)
popularity = 1 / (np.arange(N_PAGE) + 5.0)
last = np.full(N_USER, -1)
u = np.concatenate([rng.permutation(N_USER), rng.choice(N_USER, N_EDGE - N_USER, p=activity / activity.sum())])
u = u[rng.permutation(N_EDGE)]
i = rng.choice(N_PAGE, N_EDGE, p=popularity / popularity.sum())
for k in range(N_EDGE):
    if last[u[k]] >= 0 and rng.rand() < 0.6:
        i[k] = last[u[k]]
    last[u[k]] = i[k]
ts = np.sort(rng.uniform(0, 2.6e6, N_EDGE)).round()
pd.DataFrame({"u": u + 1, "i": i + 1 + N_USER, "ts": ts, "label": 0.0, "idx": np.arange(1, N_EDGE + 1)}).to_csv(
    "data/ml_wikipedia.csv")
feat = (rng.randn(N_EDGE + 1, 172) * 0.3).astype(np.float32)
feat[0] = 0
np.save("data/ml_wikipedia.npy", feat)
np.save("data/ml_wikipedia_node.npy", np.zeros((N_USER + N_PAGE + 1, 172)))
