"""Rotated and translated digit-like pictures (uint8, 28 x 28) in the place of data/mnist_rotated_translated: 2000 for training, 334 for the test (its 60000 and 10000)."""
import os

import numpy as np
from PIL import Image, ImageDraw

g = np.random.RandomState(0)


def picture():
    img = Image.new("L", (28, 28), 0)
    draw = ImageDraw.Draw(img)
    for _ in range(g.randint(1, 4)):
        x, y = g.randint(6, 20, 2)
        a = g.randint(0, 360)
        draw.arc([int(x) - 5, int(y) - 6, int(x) + 5, int(y) + 6], int(a), int(a) + 220, fill=255, width=2)
    img = img.rotate(float(g.normal(0, 45)), Image.BILINEAR, translate=tuple(int(v) for v in g.randint(-3, 4, 2)))
    return np.array(img, np.uint8)


folder = "data/mnist_rotated_translated"
os.makedirs(folder, exist_ok=True)
np.save(folder + "/images_train.npy", np.stack([picture() for _ in range(2000)]))
np.save(folder + "/images_test.npy", np.stack([picture() for _ in range(334)]))
