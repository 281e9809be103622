"""Draws digit-like pictures (bent strokes, 28 x 28) and saves them as the mnist.pkl.gz of Theano's tutorials: three pairs of float32 pictures and labels."""
import gzip
import os
import pickle

import numpy as np

SIZES = (10240, 2000, 2000)


def draw(count, rng):
    ticks = np.linspace(0, 1, 40)
    basis = np.stack([(1 - ticks) ** 2, 2 * ticks * (1 - ticks), ticks ** 2], 1)
    shapes = rng.uniform(6, 22, (10, 3, 3, 2))
    labels = rng.integers(0, 10, count)
    grid = np.arange(28)
    pictures = np.zeros((count, 28, 28), np.float32)
    for n, label in enumerate(labels):
        strokes = shapes[label] + rng.normal(0, 1.2, (3, 3, 2))
        points = (basis @ strokes[: 2 + label % 2]).reshape(-1, 2)
        near_y = np.exp(-0.5 * (points[:, :1] - grid) ** 2)
        near_x = np.exp(-0.5 * (points[:, 1:] - grid) ** 2)
        ink = near_y.T @ near_x
        pictures[n] = np.clip(ink * 0.9, 0, 1)
    pictures[pictures < 0.05] = 0
    pictures = np.round(pictures * 255).astype(np.float32) / 256
    return pictures.reshape(count, 784), labels.astype(np.int64)


def main():
    rng = np.random.default_rng(28)
    os.makedirs('datasets/maf_data/mnist', exist_ok=True)
    os.makedirs('model_saves', exist_ok=True)
    shapes = [draw(count, np.random.default_rng([28, k])) for k, count in enumerate(SIZES)]
    with gzip.open('datasets/maf_data/mnist/mnist.pkl.gz', 'wb', compresslevel=3) as f:
        pickle.dump(tuple(shapes), f, protocol=2)


if __name__ == '__main__':
    main()
