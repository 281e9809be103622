"""Draws a stand-in for the excavation's database: whole vessel profiles of known types and the type catalogue."""
import numpy as np

TYPES, CATALOGUE, RECORDED, HELD, POINTS = 80, 5, 40, 5, 192


def family(rng):
    """Coefficients of one vessel type: outer radius and wall thickness along the profile from foot to rim."""
    decay = 1.0 / np.arange(1, 9) ** 1.3
    return rng.normal(0, 1, 8) * decay, rng.normal(0, 0.3, 8) * decay, rng.uniform(0.6, 2.0)


def draw(kind, count, rng):
    radius, wall, height = kind
    along = np.linspace(0, 1, POINTS)
    waves = np.cos(np.pi * np.outer(np.arange(1, 9), along))
    r = 2.0 + (radius + rng.normal(0, 0.06, (count, 8))) @ waves
    w = 0.4 + 0.3 * (wall + rng.normal(0, 0.04, (count, 8))) @ waves
    z = along * height * rng.uniform(0.9, 1.1, (count, 1)) * 3.0
    bend = np.gradient(np.gradient(r, axis=1), axis=1) * POINTS
    return np.stack([r, z, w, bend], axis=2).astype(np.float32)


def main():
    rng = np.random.default_rng(7214)
    kinds = [family(rng) for _ in range(TYPES)]
    sets = {}
    for name, count in (("catalogue", CATALOGUE), ("recorded", RECORDED), ("held", HELD)):
        sets[name] = np.concatenate([draw(kind, count, rng) for kind in kinds])
        sets[name + "_type"] = np.repeat(np.arange(TYPES), count)
    np.savez("profiles.npz", **sets)


if __name__ == "__main__":
    main()
