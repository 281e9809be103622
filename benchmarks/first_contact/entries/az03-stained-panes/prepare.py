"""Draws tiles of made-up church windows: glass of many colours between lead cames, some panes painted."""
import numpy as np

SIDE, COUNT = 96, 900


def tile(rng, yy, xx):
    n = rng.integers(7, 15)
    sites = rng.uniform(0, SIDE, (n, 2)).astype(np.float32)
    d = np.hypot(yy[None] - sites[:, 0, None, None], xx[None] - sites[:, 1, None, None])
    near = np.partition(d, 1, axis=0)[:2]
    owner = d.argmin(0)
    lead = near[1] - near[0] < rng.uniform(2.5, 5.0)
    painted = np.isin(owner, rng.choice(n, 2, replace=False)) & (np.sin(yy * rng.uniform(0.5, 1.2) + xx * rng.uniform(-0.8, 0.8)) > 0.55)
    colours = rng.uniform(40, 230, (n, 3))
    picture = colours[owner] * rng.uniform(0.7, 1.1) + rng.normal(0, 9, (SIDE, SIDE, 1))
    picture[painted] *= 0.45
    picture[lead] = rng.uniform(15, 55) + rng.normal(0, 8, (int(lead.sum()), 1))
    glow = 1 - 0.4 * np.hypot(yy - rng.uniform(0, SIDE), xx - rng.uniform(0, SIDE)) / SIDE
    label = np.where(lead, 1, np.where(painted, 2, 0)).astype(np.uint8)
    return np.clip(picture * glow[..., None], 0, 255).astype(np.uint8), label


def main():
    rng = np.random.default_rng(1190)
    yy, xx = np.mgrid[:SIDE, :SIDE].astype(np.float32)
    pictures = np.empty((COUNT, SIDE, SIDE, 3), np.uint8)
    labels = np.empty((COUNT, SIDE, SIDE), np.uint8)
    for i in range(COUNT):
        pictures[i], labels[i] = tile(rng, yy, xx)
    np.save("pictures.npy", pictures)
    np.save("labels.npy", labels)


if __name__ == "__main__":
    main()
