"""Made-up ModelNet40 files: 400 + 100 clouds of 2048 points of 40 classes (the real ones: 9840 + 2468) in two training files and one test file."""
import os
import numpy as np

here = os.path.dirname(os.path.abspath(__file__))
folder = os.path.join(here, 'data', 'modelnet40_ply_hdf5_2048')
os.makedirs(folder, exist_ok=True)
rng = np.random.RandomState(0)
shapes = [(rng.rand(3) * 0.8 + 0.2, rng.randint(3), rng.rand() * 3 + 1) for _ in range(40)]


def cloud(label):
    size, kind, power = shapes[label]
    if kind == 0:
        p = rng.randn(2048, 3)
        p /= np.linalg.norm(p, axis=1, keepdims=True)
    elif kind == 1:
        p = rng.rand(2048, 3) * 2 - 1
        axis = rng.randint(3, size=2048)
        p[np.arange(2048), axis] = np.sign(p[np.arange(2048), axis])
    else:
        a = rng.rand(2048) * 2 * np.pi
        p = np.stack([np.cos(a), np.sin(a), rng.rand(2048) * 2 - 1], 1)
    p = np.sign(p) * np.abs(p) ** (power / 2) * size
    p -= p.mean(0)
    return p / np.linalg.norm(p, axis=1).max()


def write(name, labels):
    data = np.stack([cloud(l) for l in labels]).astype('float32')
    with open(os.path.join(folder, name), 'wb') as f:
        np.savez(f, data=data, label=np.asarray(labels)[:, None].astype('uint8'))


train = rng.permutation(np.repeat(np.arange(40), 10))
write('ply_data_train0.h5', train[:200])
write('ply_data_train1.h5', train[200:])
write('ply_data_test0.h5', rng.permutation(np.concatenate([np.arange(40), np.arange(40), np.arange(20)])))
