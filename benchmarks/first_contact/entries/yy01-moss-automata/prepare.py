"""Draws the target patterns that the automaton has to grow."""
import numpy as np

SIZE = 32


def moss(rng):
    yy, xx = np.mgrid[0:SIZE, 0:SIZE]
    alpha = np.zeros((SIZE, SIZE))
    rgb = np.zeros((3, SIZE, SIZE))
    for _ in range(14):
        cx, cy = rng.normal(SIZE / 2, 3.5, size=2)
        r = rng.uniform(2.0, 4.5)
        blob = np.exp(-((xx - cx) ** 2 + (yy - cy) ** 2) / (2 * (r / 1.6) ** 2))
        blob[blob < 0.15] = 0
        colour = np.array([rng.uniform(0.05, 0.35), rng.uniform(0.4, 0.9), rng.uniform(0.05, 0.3)])
        rgb = np.where(blob > alpha, colour[:, None, None] * blob, rgb)
        alpha = np.maximum(alpha, blob)
    return np.concatenate([rgb, alpha[None]]).astype(np.float32)


if __name__ == "__main__":
    rng = np.random.default_rng(11)
    np.save("target.npy", moss(rng))
    print("wrote target.npy")
