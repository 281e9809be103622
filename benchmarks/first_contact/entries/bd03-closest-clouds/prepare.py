"""Stand-in for ModelNet40 (hdf5, 2048 points a shape): boxes, balls, rods and plates with labels."""
import os

import numpy as np

rng = np.random.RandomState(11)
folder = 'data/modelnet40_ply_hdf5_2048'
os.makedirs(folder, exist_ok=True)


def shape(label, n=256):
    kind = label % 4
    if kind == 0:
        p = rng.uniform(-1, 1, (n, 3))
        p[np.arange(n), rng.randint(0, 3, n)] = rng.choice([-1, 1], n)
    elif kind == 1:
        p = rng.randn(n, 3)
        p /= np.linalg.norm(p, axis=1, keepdims=True)
    elif kind == 2:
        a = rng.uniform(0, 2 * np.pi, n)
        p = np.stack([0.3 * np.cos(a), 0.3 * np.sin(a), rng.uniform(-1, 1, n)], 1)
    else:
        p = np.stack([rng.uniform(-1, 1, n), rng.uniform(-1, 1, n), 0.1 * rng.randn(n)], 1)
    p = p * (0.5 + 0.05 * (label % 10) + 0.2 * rng.rand(1, 3))
    return (p / np.abs(p).max()).astype('float32')


for part, n in (('train', 1200), ('test', 200)):
    label = rng.randint(0, 40, (n, 1)).astype('uint8')
    data = np.stack([shape(int(l)) for l in label[:, 0]])
    with open(os.path.join(folder, 'ply_data_%s0.h5' % part), 'wb') as f:
        np.savez(f, data=data, label=label)
