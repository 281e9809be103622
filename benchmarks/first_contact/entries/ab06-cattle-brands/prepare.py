"""Draw cattle brands (a few strokes and an arc each) as they look on many animals."""
import numpy as np

SIZE = 48
BRANDS, VAL_BRANDS, PHOTOS = 80, 16, 40


def near_segment(p, a, b):
    ab = b - a
    t = (((p - a) * ab).sum(-1) / (ab * ab).sum(-1)).clip(0, 1)[..., None]
    return np.linalg.norm(p - a - t * ab, axis=-1)


def photos(rng, n):
    strokes = rng.uniform(-0.7, 0.7, (rng.integers(3, 6), 2, 2))
    centre, radius, opening = rng.uniform(-0.3, 0.3, 2), rng.uniform(0.2, 0.5), rng.uniform(-1, 0.8)
    grid = np.stack(np.meshgrid(np.linspace(-1, 1, SIZE), np.linspace(-1, 1, SIZE)), axis=-1)
    out = np.empty((n, SIZE, SIZE), dtype=np.uint8)
    for i in range(n):
        turn = rng.normal(0, 0.2)
        scale = rng.uniform(0.85, 1.15)
        warp = scale * np.array([[np.cos(turn), -np.sin(turn)], [np.sin(turn), np.cos(turn)]])
        warp = warp + rng.normal(0, 0.06, (2, 2))
        p = (grid - rng.normal(0, 0.06, 2)) @ warp
        d = np.min([near_segment(p, a, b) for a, b in strokes], axis=0)
        q = p - centre
        ring = np.abs(np.linalg.norm(q, axis=-1) - radius)
        d = np.minimum(d, np.where(q[..., 0] > opening * radius, ring, 9.0))
        mark = 1 / (1 + np.exp((d - rng.uniform(0.05, 0.09)) / 0.02))
        hide = rng.uniform(0.5, 0.8) + 0.1 * np.sin(rng.uniform(3, 9) * (p @ rng.normal(0, 1, 2)))
        img = hide - rng.uniform(0.3, 0.5) * mark + rng.normal(0, 0.05, d.shape)
        out[i] = (255 * img.clip(0, 1)).astype(np.uint8)
    return out


if __name__ == "__main__":
    rng = np.random.default_rng(40)
    images = np.stack([photos(rng, PHOTOS) for _ in range(BRANDS)])
    np.savez("brands.npz", train=images[:-VAL_BRANDS], val=images[-VAL_BRANDS:, :12])
    print("wrote brands.npz")
