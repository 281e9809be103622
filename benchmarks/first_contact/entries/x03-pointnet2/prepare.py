# writes data/modelnet40_normal_resampled with made-up shapes in ModelNet's text format (x,y,z,nx,ny,nz a line, 2048 points a shape, 10 categories)
import os
import numpy as np

rng = np.random.default_rng(11)
root = 'data/modelnet40_normal_resampled'
names = ['bathtub', 'bed', 'chair', 'desk', 'dresser', 'monitor', 'night_stand', 'sofa', 'table', 'toilet']
N = 2048


def shape(k):
    u = rng.normal(size=(N, 3))
    u /= np.linalg.norm(u, axis=1, keepdims=True)
    p = 2.0 + 0.8 * k / 3
    r = 1 / (np.abs(u) ** p).sum(1, keepdims=True) ** (1 / p)
    s = np.array([1, 0.35 + 0.07 * k, 1.1 - 0.08 * k]) * rng.uniform(0.85, 1.15, 3)
    x = u * r * s
    x[:, 2] += (k % 3) * 0.2 * np.sin((2 + k % 4) * x[:, 0])
    return np.hstack([x / np.abs(x).max(), u])


lists = {'train': [], 'test': []}
for k, name in enumerate(names):
    os.makedirs(os.path.join(root, name), exist_ok=True)
    for i in range(15):
        item = '%s_%04d' % (name, i + 1)
        np.savetxt(os.path.join(root, name, item + '.txt'), shape(k), fmt='%.6f', delimiter=',')
        lists['train' if i < 12 else 'test'].append(item)
for split in lists:
    open(os.path.join(root, 'modelnet10_%s.txt' % split), 'w').write('\n'.join(lists[split]) + '\n')
open(os.path.join(root, 'modelnet10_shape_names.txt'), 'w').write('\n'.join(names) + '\n')
