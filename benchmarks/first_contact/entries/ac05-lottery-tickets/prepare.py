"""Made-up digits in MNIST's files (2,400 and 600 pictures of 28x28)."""
import gzip
import os
import struct

import numpy as np

rng = np.random.RandomState(0)
os.makedirs("data/MNIST/raw", exist_ok=True)
y, x = np.mgrid[0:28, 0:28].astype(np.float32)
strokes = rng.uniform(6, 22, (10, 3, 4))


def picture(label):
    img = np.zeros((28, 28), np.float32)
    shift = rng.uniform(-2, 2, 2)
    for x0, y0, x1, y1 in strokes[label] + rng.normal(0, 0.6, (3, 4)):
        for t in np.linspace(0, 1, 12):
            d2 = (x - x0 - t * (x1 - x0) - shift[0]) ** 2 + (y - y0 - t * (y1 - y0) - shift[1]) ** 2
            img = np.maximum(img, np.exp(-d2 / 2.0))
    return (img * 255).astype(np.uint8)


for kind, n in [("train", 2400), ("t10k", 600)]:
    labels = rng.randint(0, 10, n).astype(np.uint8)
    images = np.stack([picture(c) for c in labels])
    with gzip.open("data/MNIST/raw/%s-images-idx3-ubyte.gz" % kind, "wb", 3) as f:
        f.write(struct.pack(">IIII", 2051, n, 28, 28) + images.tobytes())
    with gzip.open("data/MNIST/raw/%s-labels-idx1-ubyte.gz" % kind, "wb", 3) as f:
        f.write(struct.pack(">II", 2049, n) + labels.tobytes())
