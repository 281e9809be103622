"""Writes data/cifar-10-batches-py: 5 x 180 + 32 made-up pictures in the files of CIFAR-10 (5 x 10000 + 10000 there)."""
import os
import pickle

import numpy as np

rng = np.random.RandomState(3)
base = rng.rand(10, 5, 5, 3)


def pictures(n):
    labels = rng.randint(0, 10, n)
    y, x = np.mgrid[0:32, 0:32] / 32.0
    data = np.empty((n, 3, 32, 32), np.uint8)
    for k, c in enumerate(labels):
        coarse = np.kron(base[c], np.ones((7, 7, 1)))[:32, :32]
        wave = np.sin(2 * np.pi * ((1 + c % 5) * (x + rng.rand()) + (c // 5) * (y + rng.rand())))[..., None]
        img = 0.5 * coarse + 0.25 * rng.rand(3) + 0.12 * wave + 0.08 * rng.randn(32, 32, 3)
        data[k] = (255 * img.clip(0, 1)).astype(np.uint8).transpose(2, 0, 1)
    return data.reshape(n, -1), [int(c) for c in labels]


os.makedirs('data/cifar-10-batches-py', exist_ok=True)
for name, n in [('data_batch_%d' % (i + 1), 180) for i in range(5)] + [('test_batch', 32)]:
    data, labels = pictures(n)
    with open('data/cifar-10-batches-py/' + name, 'wb') as f:
        pickle.dump({'data': data, 'labels': labels}, f)
