"""A made-up two-channel heart trace with a label column, cut like 0_download_dataset.py cuts chfdb_chf13_45590 (2439 rows for training, 1287 for the test)."""
import os
import pickle

import numpy as np

g = np.random.RandomState(0)
n = 3726
t = np.arange(n)
beat = (t / 155.0 + 0.02 * np.sin(t / 700.0)) % 1.0


def wave(center, width, height):
    return height * np.exp(-((beat - center) / width) ** 2)


one = wave(0.3, 0.02, 1.6) - wave(0.34, 0.02, 0.5) + wave(0.55, 0.07, 0.35) + wave(0.15, 0.05, 0.15) + 0.03 * g.randn(n)
two = wave(0.3, 0.025, 0.9) + wave(0.55, 0.09, -0.3) + 0.03 * g.randn(n)
label = np.zeros(n)
one[2800:2900] *= -0.6
label[2800:2900] = 1
rows = np.stack([one - 4.5, two - 4.7, label], 1).tolist()
for split, part in (("train", rows[:2439]), ("test", rows[2439:])):
    os.makedirs("dataset/ecg/labeled/" + split, exist_ok=True)
    with open("dataset/ecg/labeled/%s/chfdb_chf13_45590.pkl" % split, "wb") as f:
        pickle.dump(part, f)
