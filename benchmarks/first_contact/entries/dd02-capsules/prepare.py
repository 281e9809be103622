"""Writes data/mnist/MNIST/raw: made-up pictures of ten kinds of strokes in the format of MNIST."""
import os

import numpy as np

rng = np.random.default_rng(3)
yy, xx = np.mgrid[0:28, 0:28]


def picture(kind):
    img = np.zeros((28, 28))
    strokes = np.random.default_rng(100 + kind)
    for _ in range(4):
        x0, y0, x1, y1 = strokes.uniform(6, 22, 4) + rng.normal(0, .8, 4)
        for t in np.linspace(0, 1, 14):
            x, y = x0 + t * (x1 - x0), y0 + t * (y1 - y0)
            img = np.maximum(img, np.exp(-((xx - x) ** 2 + (yy - y) ** 2) / 1.6))
    return (255 * np.clip(img * 1.3, 0, 1)).astype(np.uint8)


folder = os.path.join('data', 'mnist', 'MNIST', 'raw')
os.makedirs(folder, exist_ok=True)
for name, n in (('train', 1500), ('t10k', 250)):
    labels = rng.integers(0, 10, n).astype(np.uint8)
    images = np.stack([picture(int(k)) for k in labels])
    with open(os.path.join(folder, name + '-images-idx3-ubyte'), 'wb') as f:
        f.write((0x803).to_bytes(4, 'big') + n.to_bytes(4, 'big') + (28).to_bytes(4, 'big') * 2 + images.tobytes())
    with open(os.path.join(folder, name + '-labels-idx1-ubyte'), 'wb') as f:
        f.write((0x801).to_bytes(4, 'big') + n.to_bytes(4, 'big') + labels.tobytes())
