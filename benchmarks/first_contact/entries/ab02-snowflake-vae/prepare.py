"""Grow snowflakes: branches with side arms, repeated six times about the middle."""
import numpy as np

SIZE = 32


def flakes(rng, n):
    yy, xx = np.mgrid[-1:1:SIZE * 1j, -1:1:SIZE * 1j]
    turn = rng.uniform(0, np.pi / 3, (n, 1, 1))
    r = np.hypot(xx, yy)[None]
    phi = np.abs((np.arctan2(yy, xx)[None] - turn + np.pi / 6) % (np.pi / 3) - np.pi / 6)
    along, across = r * np.cos(phi), r * np.sin(phi)
    reach = rng.uniform(0.6, 0.95, (n, 1, 1))
    thick = rng.uniform(0.03, 0.08, (n, 1, 1))
    img = (1 / (1 + np.exp((across - thick) / 0.02))) * (along < reach)
    img = np.maximum(img, r < rng.uniform(0.05, 0.35, (n, 1, 1)))
    for _ in range(3):
        start = rng.uniform(0.2, 0.7, (n, 1, 1))
        length = rng.uniform(0.1, 0.4, (n, 1, 1))
        s = (along - start) * 0.5 + across * 0.866
        d = np.abs(across * 0.5 - (along - start) * 0.866)
        img = np.maximum(img, (d < 0.05) & (s > 0) & (s < length) & (along < 1))
    img = img * rng.uniform(0.7, 1.0, (n, 1, 1)) + rng.normal(0, 0.02, img.shape)
    return (255 * img.clip(0, 1)).astype(np.uint8)


if __name__ == "__main__":
    rng = np.random.default_rng(12)
    images = np.concatenate([flakes(rng, 512) for _ in range(21)])
    np.savez("flakes.npz", train=images[:-512], val=images[-512:])
    print("wrote flakes.npz", images.shape)
