"""Draws stand-in CAD meshes in the layout of ModelNet40 (CATEGORY/{train,test}/CATEGORY_0001.off)."""
import os
import numpy as np

TRAIN, TEST = 16, 4

def part(rng, centre, size, kind, n):
    d = rng.normal(size=(n, 3))
    d /= np.linalg.norm(d, axis=1, keepdims=True)
    if kind == 0:                                   # a box
        d /= np.abs(d).max(axis=1, keepdims=True)
    elif kind == 1:                                 # a cylinder
        d[:, :2] /= np.linalg.norm(d[:, :2], axis=1, keepdims=True)
        d[:, 2] = rng.uniform(-1, 1, size=n)
    return d * size + centre

def main():
    rng = np.random.default_rng(2018)
    for category in open('sampledata/modelnet40_half1.txt').read().split():
        parts = int(rng.integers(3, 7))
        centres = rng.uniform(-40, 40, size=(parts, 3))
        sizes = rng.uniform(3, 25, size=(parts, 3))
        kinds = rng.integers(0, 3, size=parts)
        for split, count in (('train', TRAIN), ('test', TEST)):
            folder = os.path.join('ModelNet40', category, split)
            os.makedirs(folder, exist_ok=True)
            first = 1 if split == 'train' else TRAIN + 1
            for i in range(first, first + count):
                n = int(np.clip(rng.lognormal(8.3, 0.9), 300, 30000))
                share = np.diff(np.linspace(0, n, parts + 1).astype(int))
                v = np.concatenate([part(rng, c + rng.normal(size=3) * 2, s * rng.uniform(0.8, 1.2, 3), k, m)
                                    for c, s, k, m in zip(centres, sizes, kinds, share)])
                f = rng.integers(0, n, size=(n, 3))
                with open(os.path.join(folder, '%s_%04d.off' % (category, i)), 'w') as out:
                    out.write('OFF\n%d %d 0\n' % (n, len(f)))
                    out.write('\n'.join(['%.6f %.6f %.6f' % t for t in map(tuple, v.tolist())]) + '\n')
                    out.write('\n'.join(['3 %d %d %d' % t for t in map(tuple, f.tolist())]) + '\n')

if __name__ == '__main__':
    main()
