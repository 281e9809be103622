"""Reflectance of orchard pixels over a season (24 dates, 10 bands), twelve kinds of fruit trees."""
import numpy as np

KINDS, DATES, BANDS = 12, 24, 10


def main():
    rng = np.random.default_rng(31)
    peak = rng.uniform(8, 16, (KINDS, 1, BANDS))
    width = rng.uniform(2, 6, (KINDS, 1, BANDS))
    height = rng.uniform(0.1, 0.5, (KINDS, 1, BANDS))
    ground = rng.uniform(0.05, 0.3, (KINDS, 1, BANDS))
    days = np.arange(DATES)[None, :, None]
    parts = {}
    for split, count in (("train", 1920), ("val", 192)):
        kind = rng.integers(0, KINDS, count)
        shift = rng.normal(0, 1.2, (count, 1, 1))
        scale = rng.uniform(0.7, 1.3, (count, 1, 1))
        curve = ground[kind] + scale * height[kind] * np.exp(-0.5 * ((days - peak[kind] - shift) / width[kind]) ** 2)
        curve = curve + rng.normal(0, 0.06, curve.shape)
        cloudy = rng.random((count, DATES)) < 0.15
        curve[cloudy] = rng.uniform(0.6, 0.9, (cloudy.sum(), 1))
        parts[f"{split}_x"] = curve.astype(np.float32)
        parts[f"{split}_y"] = kind.astype(np.int64)
    np.savez("pixels.npz", **parts)


if __name__ == "__main__":
    main()
