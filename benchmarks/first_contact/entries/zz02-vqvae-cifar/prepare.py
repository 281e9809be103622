"""Made-up pictures in the form of CIFAR-10's python batches (50,000 and 10,000 of 3x32x32), packed with xz."""
import lzma
import os
import pickle

import numpy as np

rng = np.random.RandomState(0)
os.makedirs("data/cifar-10-batches-py", exist_ok=True)
y, x = np.mgrid[0:32, 0:32].astype(np.float32) / 32
base = np.stack([np.stack([np.sin(rng.uniform(2, 14) * x + rng.uniform(2, 14) * y + rng.uniform(0, 6))
                           for _ in range(3)]) for _ in range(64)])
for name in ["data_batch_%d" % i for i in range(1, 6)] + ["test_batch"]:
    a, b = rng.randint(0, 64, (2, 500))
    img = base[a] * 60 + base[b] * 40 + 128
    img = img.astype(np.uint8) + rng.randint(0, 12, img.shape, dtype=np.uint8)
    img, a = np.tile(img.reshape(500, 3072), (20, 1)), np.tile(a, 20)
    with lzma.open("data/cifar-10-batches-py/" + name + ".xz", "wb", preset=2) as f:
        pickle.dump({"data": img, "labels": (a % 10).tolist()}, f, protocol=4)
