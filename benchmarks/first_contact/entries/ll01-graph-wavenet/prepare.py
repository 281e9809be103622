"""Writes a stand-in for METR-LA in the files that train.py reads: data/METR-LA/{train,val,test}.npz
(x, y of shape (windows, 12, sensors, 2): speed in mph and time of day; zeros are missing readings)
and data/sensor_graph/adj_mx.pkl (the thresholded Gaussian kernel of road distances)."""
import os
import pickle
import numpy as np

SENSORS = 207
SAMPLES = 480 + 68 + 136 + 23

rng = np.random.RandomState(11)
os.makedirs('data/METR-LA', exist_ok=True)
os.makedirs('data/sensor_graph', exist_ok=True)
os.makedirs('garage', exist_ok=True)

place = rng.rand(SENSORS, 2) * 40
dist = np.sqrt(((place[:, None] - place[None]) ** 2).sum(-1)) * rng.uniform(1.0, 1.6, (SENSORS, SENSORS))
adj = np.exp(-np.square(dist / dist.std()))
adj[adj < 0.75] = 0
adj = adj.astype(np.float32)
ids = [str(700000 + i) for i in range(SENSORS)]
with open('data/sensor_graph/adj_mx.pkl', 'wb') as f:
    pickle.dump((ids, {s: i for i, s in enumerate(ids)}, adj), f)

t = np.arange(SAMPLES)
day = (t % 288) / 288.0
rush = np.exp(-((day - 0.33) / 0.06) ** 2) + 1.2 * np.exp(-((day - 0.72) / 0.07) ** 2)
depth = rng.uniform(2, 35, SENSORS)
noise = rng.randn(SAMPLES, SENSORS)
for i in range(1, SAMPLES):
    noise[i] = 0.9 * noise[i - 1] + 0.44 * noise[i]
mix = adj / adj.sum(1, keepdims=True)
speed = 64 - rush[:, None] * depth[None] + 3 * noise @ mix.T
speed = np.clip(speed + rng.randn(SAMPLES, SENSORS), 3, 70)
speed[rng.rand(SAMPLES, SENSORS) < 0.08] = 0
data = np.stack([speed, np.repeat(day[:, None], SENSORS, 1)], -1)

starts = np.arange(11, SAMPLES - 12)
x = np.stack([data[s - 11:s + 1] for s in starts])
y = np.stack([data[s + 1:s + 13] for s in starts])
for name, low, high in (('train', 0, 480), ('val', 480, 548), ('test', 548, 684)):
    np.savez('data/METR-LA/%s.npz' % name, x=x[low:high], y=y[low:high])
    print(name, x[low:high].shape, x.dtype)
