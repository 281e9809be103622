"""Writes a stand-in for the Kaggle Display Advertising data as the repository's own preprocessing leaves it:
input/kaggleAdDisplayChallenge_processed.npz and input/train_day_count.npz.
168000 clicks of 7 days (45.8 million), 13 dense and 26 categorical features, heavy-tailed;
the tables above 100000 rows are a twentieth of the real ones."""
import os
import numpy as np

COUNTS = [1460, 583, 10131227, 2202608, 305, 24, 12517, 633, 3, 93145, 5683, 8351593, 3194, 27, 14992,
          5461306, 10, 5652, 2173, 4, 7046547, 18, 15, 286181, 105, 142572]
COUNTS = np.array([c // 20 if c > 100000 else c for c in COUNTS], dtype=np.int32)
DAYS, PER_DAY = 7, 24000

rng = np.random.RandomState(3)
n = DAYS * PER_DAY
os.makedirs('input', exist_ok=True)
x_cat = np.stack([np.minimum((c * rng.rand(n) ** 3).astype(np.int32), c - 1) for c in COUNTS], 1)
x_int = np.floor(np.exp(rng.randn(n, 13) * 1.6 + 1)).astype(np.int32)
x_int[rng.rand(n, 13) < 0.25] = 0
score = 0.3 * np.log1p(x_int[:, 0]) - 0.2 * np.log1p(x_int[:, 5]) + (x_cat[:, 0] % 7) * 0.2 - 1.9
y = (rng.rand(n) < 1 / (1 + np.exp(-score))).astype(np.int32)
np.savez_compressed('input/kaggleAdDisplayChallenge_processed.npz', X_cat=x_cat, X_int=x_int, y=y, counts=COUNTS)
np.savez_compressed('input/train_day_count.npz', total_per_file=np.array([PER_DAY] * DAYS))
print(n, y.mean(), COUNTS.sum())
