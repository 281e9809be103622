"""Writes datasets/cifar-10-batches-py: five pickled batches of made-up pictures in the format of CIFAR-10."""
import os
import pickle

import numpy as np
from PIL import Image

N = 400  # a batch (10000 in CIFAR-10)

here = os.path.dirname(os.path.abspath(__file__))
folder = os.path.join(here, "datasets", "cifar-10-batches-py")
os.makedirs(folder, exist_ok=True)
rng = np.random.default_rng(3)
yy, xx = np.mgrid[0:32, 0:32] / 31.0
for b in range(1, 6):
    labels = rng.integers(0, 10, N).tolist()
    data = np.empty((N, 3, 32, 32), np.uint8)
    for i, y in enumerate(labels):
        back = Image.fromarray(rng.integers(0, 256, (4, 4, 3), dtype=np.uint8)).resize((32, 32), Image.BICUBIC)
        cx, cy, r = rng.uniform(.3, .7), rng.uniform(.3, .7), rng.uniform(.15, .35)
        shape = (np.abs(xx - cx) ** (1 + y / 4) + np.abs(yy - cy) ** (1 + y / 4)) < r ** (1 + y / 4)
        img = np.where(shape[..., None], rng.integers(0, 256, 3), np.asarray(back)) + rng.normal(0, 8, (32, 32, 3))
        data[i] = img.clip(0, 255).astype(np.uint8).transpose(2, 0, 1)
    with open(os.path.join(folder, f"data_batch_{b}"), "wb") as f:
        pickle.dump({"batch_label": f"training batch {b} of 5", "labels": labels, "data": data.reshape(N, -1), "filenames": [f"{i}.png" for i in range(N)]}, f)
