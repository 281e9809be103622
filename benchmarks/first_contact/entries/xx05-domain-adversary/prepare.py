"""Writes dataset/mnist_m: 6000 coloured 32x32 pictures for training and 1500 for test, with the lists of labels."""
import os

import numpy as np
from PIL import Image

rng = np.random.RandomState(4)
base = rng.rand(10, 32, 32)
for part, count in (("train", 6000), ("test", 1500)):
    folder = f"dataset/mnist_m/mnist_m_{part}"
    os.makedirs(folder, exist_ok=True)
    with open(f"dataset/mnist_m/mnist_m_{part}_labels.txt", "w") as out:
        for i in range(count):
            label = rng.randint(10)
            coarse = np.asarray(Image.fromarray(rng.randint(0, 256, (8, 8, 3), np.uint8)).resize((32, 32)), float)
            digit = (base[label] > 0.6)[..., None] * 255.0
            picture = np.abs(coarse - digit).clip(0, 255).astype(np.uint8)
            Image.fromarray(picture).save(f"{folder}/{i:08d}.png")
            out.write(f"{i:08d}.png {label}\n")
