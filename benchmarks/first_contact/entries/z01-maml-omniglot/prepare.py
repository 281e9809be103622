"""Draws 200 made-up characters, 20 drawings of each, 28 x 28, into omniglot/omniglot.npy in the form in which
the repository keeps Omniglot ([classes, 20, 1, 28, 28], float64 in [0, 1])."""
import os
import numpy as np
from PIL import Image, ImageDraw

rng = np.random.default_rng(11)
root = os.path.join(os.path.dirname(os.path.abspath(__file__)), 'omniglot')
os.makedirs(root, exist_ok=True)
x = np.zeros((200, 20, 1, 28, 28))
for c in range(200):
    strokes = [rng.uniform(15, 90, (int(rng.integers(3, 6)), 2)) for _ in range(int(rng.integers(2, 4)))]
    for k in range(20):
        img = Image.new('L', (105, 105), 255)
        draw = ImageDraw.Draw(img)
        shift = rng.normal(0, 4, 2)
        for s in strokes:
            draw.line([tuple(p) for p in s + shift + rng.normal(0, 2.5, s.shape)], fill=0, width=3)
        x[c, k, 0] = np.asarray(img.resize((28, 28))) / 255.
np.save(os.path.join(root, 'omniglot.npy'), x)
print('wrote', x.shape)
