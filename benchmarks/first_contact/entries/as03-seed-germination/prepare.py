"""Crops of germinating seeds from 90 seed lots, six seeds each at five hours."""
import numpy as np

rng = np.random.default_rng(404)
S = 40
yy, xx = np.mgrid[:S, :S] - S / 2
pictures, lots = [], []
for lot in range(90):
    length, width = rng.uniform(7, 14), rng.uniform(3, 8)
    colour = rng.uniform(60, 220, 3)
    stripes, vigour = rng.uniform(0.2, 1.2), rng.uniform(0, 14)
    for seed in range(30):
        a = rng.uniform(0, 2 * np.pi)
        u, v = xx * np.cos(a) + yy * np.sin(a), -xx * np.sin(a) + yy * np.cos(a)
        body = (u / length) ** 2 + (v / width) ** 2 < 1
        root = (np.abs(v - 2 * np.sin(u / 3)) < 1.3) & (u > length) & (u < length + vigour * (seed % 5) / 4)
        image = rng.normal(30, 8, (S, S, 3))
        image[body] = colour * (0.8 + 0.2 * np.sin(stripes * u[body]))[:, None] + rng.normal(0, 10, (body.sum(), 3))
        image[root] = 235
        pictures.append(np.clip(image, 0, 255).astype(np.uint8))
        lots.append(lot)
np.savez("seeds.npz", pictures=np.stack(pictures), lots=np.array(lots))
