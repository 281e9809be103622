"""Synthetic quadrat photographs of crustose lichens, with thallus masks."""
import numpy as np

rng = np.random.default_rng(1931)
SIZE, COUNT = 224, 150
yy, xx = np.mgrid[:SIZE, :SIZE].astype(np.float32)
photos = np.zeros((COUNT, SIZE, SIZE, 3), np.uint8)
masks = np.zeros((COUNT, SIZE, SIZE), np.uint8)
for n in range(COUNT):
    rock = rng.normal(0, 1, (28, 28)).repeat(8, 0).repeat(8, 1) * 9 + rng.normal(0, 6, (SIZE, SIZE)) + 120
    picture = np.stack([rock * f for f in (1.0, 0.97, 0.92)], -1)
    for species in (1, 2):
        for _ in range(rng.integers(3, 9)):
            cy, cx, r = rng.uniform(0, SIZE, 2).tolist() + [rng.uniform(8, 30)]
            angle = np.arctan2(yy - cy, xx - cx)
            edge = r * (1 + 0.15 * np.sin(rng.integers(3, 9) * angle + rng.uniform(0, 6)))
            inside = (yy - cy) ** 2 + (xx - cx) ** 2 < edge ** 2
            colour = (150, 160, 90) if species == 1 else (190, 120, 50)
            picture[inside] = np.array(colour) + rng.normal(0, 12, (inside.sum(), 3))
            masks[n][inside] = species
    photos[n] = np.clip(picture, 0, 255)
np.savez_compressed("quadrats.npz", photos=photos, masks=masks)
