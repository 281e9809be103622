# writes images/faces: 400 made-up pictures (40 x 48, PNG)
import os
import numpy as np
from PIL import Image

rng = np.random.default_rng(2)
os.makedirs('images/faces', exist_ok=True)
y, x = np.mgrid[0:48, 0:40].astype(np.float32)
for i in range(400):
    a = np.ones((48, 40, 3), np.float32) * rng.uniform(20, 120, 3)
    cx, cy, r = rng.uniform(16, 24), rng.uniform(20, 28), rng.uniform(11, 16)
    face = ((x - cx) / r) ** 2 + ((y - cy) / (r * 1.2)) ** 2 < 1
    a[face] = rng.uniform(120, 235, 3)
    for s in (-1, 1):
        eye = (x - cx - s * r * 0.4) ** 2 + (y - cy + r * 0.3) ** 2 < (r * 0.15) ** 2
        a[eye] = rng.uniform(0, 70, 3)
    mouth = (np.abs(x - cx) < r * 0.4) & (np.abs(y - cy - r * 0.5) < 1.5)
    a[mouth] = rng.uniform(60, 150, 3)
    a += rng.normal(0, 6, a.shape)
    Image.fromarray(a.clip(0, 255).astype(np.uint8)).save('images/faces/%04d.png' % i)
