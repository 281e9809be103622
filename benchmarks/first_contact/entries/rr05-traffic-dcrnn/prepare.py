"""Writes data/METR-LA/{train,val,test}.npz and data/sensor_graph/adj_mx.pkl: made-up speeds of 207 sensors."""
import os
import pickle

import numpy as np

rng = np.random.default_rng(207)
N, T = 207, 1200
pos = rng.random((N, 2)) * [1.0, 0.6]
dist = np.sqrt(((pos[:, None] - pos[None]) ** 2).sum(-1)) * rng.uniform(1.0, 1.5, (N, N))
adj = np.exp(-np.square(dist / 0.06))
adj[adj < 0.1] = 0
np.fill_diagonal(adj, 1)
os.makedirs("data/sensor_graph", exist_ok=True)
ids = [str(700000 + i) for i in range(N)]
with open("data/sensor_graph/adj_mx.pkl", "wb") as f:
    pickle.dump([ids, {s: i for i, s in enumerate(ids)}, adj.astype(np.float32)], f, protocol=2)

day = (np.arange(T) % 288) / 288.0
peaks = np.exp(-((day - 0.33) / 0.05) ** 2) + np.exp(-((day - 0.73) / 0.06) ** 2)
load = rng.uniform(0.2, 1.0, N)
speed = 64 - 30 * peaks[:, None] * load
walk = np.zeros(N)
mix = adj / adj.sum(1, keepdims=True)
for t in range(T):
    walk = 0.9 * mix @ walk + rng.normal(0, 2.0, N)
    speed[t] += walk
speed = np.clip(speed, 3, 70)
speed[rng.random((T, N)) < 0.05] = 0
data = np.stack([speed, np.tile(day[:, None], (1, N))], axis=-1)

x = np.stack([data[t - 11:t + 1] for t in range(11, T - 12)])
y = np.stack([data[t + 1:t + 13] for t in range(11, T - 12)])
pick = np.sort(rng.permutation(len(x))[:700])
x, y = x[pick], y[pick]
os.makedirs("data/METR-LA", exist_ok=True)
for name, a, b in (("train", 0, 490), ("val", 490, 560), ("test", 560, 700)):
    np.savez_compressed("data/METR-LA/%s.npz" % name, x=x[a:b], y=y[a:b])
print("degree", (adj > 0).sum() / N, x.shape, y.shape)
