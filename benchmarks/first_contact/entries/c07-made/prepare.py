"""Writes binarized_mnist.npz: float32 arrays train_data, valid_data of 784 binary pixels (the real one: 50000 and 10000 rows; rows of the training set are argument 1)."""
import sys
import numpy as np

n = int(sys.argv[1]) if len(sys.argv) > 1 else 4000
rng = np.random.default_rng(0)


def images(k):
    yy, xx = np.mgrid[0:28, 0:28]
    out = np.zeros((k, 784), np.float32)
    for i in range(k):
        c = rng.uniform(8, 20, (3, 2))
        d = np.min([(yy - a) ** 2 + (xx - b) ** 2 for a, b in c], 0)
        out[i] = (d < rng.uniform(5, 14)).reshape(-1)
    return out


np.savez("binarized_mnist.npz", train_data=images(n), valid_data=images(max(500, n // 5)))
