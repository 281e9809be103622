"""data/character_data.pickle: letters drawn by a two-link arm (20 letters of 500 samples, 2 ms apart), with the torques of
rigid body dynamics, in the keys of the original file."""
import os
import pickle

import numpy as np

rng = np.random.default_rng(2)
LETTERS = ["a", "b", "c", "d", "e", "g", "h", "l", "m", "n", "o", "p", "q", "r", "s", "u", "v", "w", "y", "z"]
M1, M2, L1, L2, G = 0.5, 0.5, 0.5, 0.5, 9.81


def arm(q, v, a):
    c2, s2 = np.cos(q[:, 1]), np.sin(q[:, 1])
    h11 = (M1 + M2) * L1**2 + M2 * L2**2 + 2 * M2 * L1 * L2 * c2
    h12 = M2 * L2**2 + M2 * L1 * L2 * c2
    h22 = np.full_like(h11, M2 * L2**2)
    k = M2 * L1 * L2 * s2
    m = np.stack([h11 * a[:, 0] + h12 * a[:, 1], h12 * a[:, 0] + h22 * a[:, 1]], 1)
    c = np.stack([-k * (2 * v[:, 0] * v[:, 1] + v[:, 1] ** 2), k * v[:, 0] ** 2], 1)
    g2 = M2 * G * L2 * np.cos(q.sum(1))
    g = np.stack([(M1 + M2) * G * L1 * np.cos(q[:, 0]) + g2, g2], 1)
    p = np.stack([h11 * v[:, 0] + h12 * v[:, 1], h12 * v[:, 0] + h22 * v[:, 1]], 1)
    return m, c, g, p


data = {key: [] for key in ("labels", "t", "qp", "qv", "qa", "p", "pdot", "tau", "m", "c", "g")}
for letter in LETTERS:
    t = np.arange(500) * 0.002
    w, amp, ph = rng.uniform(2, 14, (6, 2)), rng.normal(0, 0.15, (6, 2)), rng.uniform(0, 6.28, (6, 2))
    arg = w * t[:, None, None] + ph
    q = (amp * np.sin(arg)).sum(1) + rng.uniform(-0.8, 0.8, 2)
    v = (amp * w * np.cos(arg)).sum(1)
    a = (-amp * w**2 * np.sin(arg)).sum(1)
    m, c, g, p = arm(q, v, a)
    for key, value in zip(data, (letter, t, q, v, a, p, np.gradient(p, t, axis=0), m + c + g, m, c, g)):
        data[key].append(value)
os.makedirs("data", exist_ok=True)
with open("data/character_data.pickle", "wb") as f:
    pickle.dump(data, f)
