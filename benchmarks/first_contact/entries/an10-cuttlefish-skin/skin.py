"""Mantles of cuttlefish, 56 x 56 pixels, with the chronic pattern components that are shown and how strongly."""
import numpy as np

COMPONENTS = ("white square", "mottle", "bands", "head bar", "paired spots", "zebra", "fringe line", "posterior V")
SIZE = 56


def mantles(count, seed):
    rng = np.random.default_rng(seed)
    y, x = np.mgrid[-1:1:SIZE * 1j, -1:1:SIZE * 1j].astype(np.float32)
    body = (x / 0.7) ** 2 + (y / 0.95) ** 2 < 1
    square = (abs(x) < 0.25) & (abs(y - 0.05) < 0.25)
    spots = ((x - 0.3) ** 2 + (y + 0.4) ** 2 < 0.02) | ((x + 0.3) ** 2 + (y + 0.4) ** 2 < 0.02)
    fringe = abs((x / 0.7) ** 2 + (y / 0.95) ** 2 - 0.85) < 0.08
    vee = abs(y - 0.75 + abs(x)) < 0.07
    strength = (rng.random((count, 8)) * (rng.random((count, 8)) < 0.45)).astype(np.float32)
    images = np.empty((count, SIZE, SIZE, 3), np.uint8)
    for k, s in enumerate(strength):
        coarse = rng.normal(size=(SIZE // 4, SIZE // 4)).astype(np.float32).repeat(4, 0).repeat(4, 1)
        mottle = coarse > 0.3
        phase = rng.uniform(0, 6.3)
        grey = (0.45 + 0.4 * s[0] * square - 0.3 * s[1] * mottle - 0.25 * s[2] * (np.sin(7 * y + phase) > 0.3)
                + 0.35 * s[3] * (abs(y + 0.75) < 0.08) - 0.4 * s[4] * spots - 0.25 * s[5] * (np.sin(22 * x + 3 * y + phase) > 0)
                + 0.3 * s[6] * fringe + 0.35 * s[7] * vee)
        tint = np.array([1.0, 0.85, 0.7]) + rng.normal(0, 0.04, 3)
        sand = rng.normal(0.5, 0.08, (SIZE, SIZE))
        picture = np.where(body, grey, sand)[:, :, None] * tint + rng.normal(0, 0.03, (SIZE, SIZE, 3))
        images[k] = (255 * picture).clip(0, 255)
    return images, strength
