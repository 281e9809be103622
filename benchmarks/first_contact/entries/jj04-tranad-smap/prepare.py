"""Writes processed/SMAP/P-1_{train,test,labels}.npy: made-up telemetry of 25 channels in the size of the channel P-1 of SMAP
(2872 training and 8505 test rows): one continuous channel, the rest commands that are 0 or 1."""
import os

import numpy as np

TRAIN, TEST, FEATS = 2872, 8505, 25

here = os.path.dirname(os.path.abspath(__file__))
folder = os.path.join(here, "processed", "SMAP")
os.makedirs(folder, exist_ok=True)
rng = np.random.default_rng(5)


def make(n):
    t = np.arange(n)
    x = np.zeros((n, FEATS))
    x[:, 0] = .5 + .3 * np.sin(t / 37) + .1 * np.sin(t / 7.3) + rng.normal(0, .03, n)
    for k in range(1, FEATS):
        on = rng.random(n) < rng.uniform(.005, .2)
        x[:, k] = on * (rng.uniform(.5, 1) if k % 3 == 0 else 1.0)
    x += rng.normal(0, .004, x.shape)
    return x


train, test = make(TRAIN), make(TEST)
labels = np.zeros((TEST, FEATS))
for a, b in ((2149, 2349), (4536, 4844), (3539, 3779)):
    test[a:b, 0] += rng.choice([-.5, .6])
    labels[a:b, :] = 1
low, high = train.min(0), train.max(0)
for name, x in (("train", (train - low) / (high - low + .0001)), ("test", (test - low) / (high - low + .0001)), ("labels", labels)):
    np.save(os.path.join(folder, f"P-1_{name}.npy"), x)
