"""Painted tiles whose pieces are to be put back in order."""
import numpy as np

SIZE = 48


def painting(rng, n):
    yy, xx = np.mgrid[0:1:SIZE * 1j, 0:1:SIZE * 1j]
    th = rng.uniform(-0.6, 0.6, (n, 1, 1))
    u = np.cos(th) * xx + np.sin(th) * yy
    v = -np.sin(th) * xx + np.cos(th) * yy
    sky = 0.35 + 0.4 * v + 0.1 * np.sin(2 * np.pi * rng.uniform(1, 4, (n, 1, 1)) * u + rng.uniform(0, 6, (n, 1, 1)))
    img = np.stack([sky, 0.2 + 0.6 * u, 0.9 - 0.6 * v], axis=1)
    for _ in range(4):
        cx, cy = rng.uniform(0.1, 0.9, (2, n, 1, 1))
        r = rng.uniform(0.05, 0.2, (n, 1, 1))
        inside = ((xx - cx) ** 2 + (yy - cy) ** 2 < r * r)[:, None]
        img = np.where(inside, rng.uniform(0, 1, (n, 3, 1, 1)), img)
    img = img + rng.normal(0, 0.02, img.shape)
    return (255 * img.clip(0, 1)).astype(np.uint8)


if __name__ == "__main__":
    rng = np.random.default_rng(8)
    images = np.concatenate([painting(rng, 500) for _ in range(12)])
    np.savez("paintings.npz", train=images[:5376], val=images[5376:])
    print("wrote paintings.npz")
