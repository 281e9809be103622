"""Synthetic lake-sediment cores: scanner colours and XRF counts along depth, with varve boundaries."""
import numpy as np

CORES = 26
LENGTH = 11000
CHANNELS = ["red", "green", "blue", "lightness", "Ca", "Fe", "Ti", "Mn", "Sr", "density"]


def make_core(rng):
    thickness = rng.gamma(6.0, 4.2, size=900) * np.exp(np.cumsum(rng.normal(0, 0.02, 900)))
    thickness = np.clip(thickness, 6, 90)
    edges = np.cumsum(thickness)
    edges = edges[edges < LENGTH - 1]
    season = np.zeros(LENGTH)
    depth = np.arange(LENGTH)
    year = np.searchsorted(edges, depth)
    upper = np.concatenate([[0.0], edges])[year]
    lower = np.concatenate([edges, [LENGTH]])[year]
    phase = (depth - upper) / (lower - upper)
    season = np.sin(2 * np.pi * phase) + 0.6 * (phase > 0.55)
    mixing = rng.normal(0, 1, (4, len(edges) + 1))[:, year]
    drift = np.cumsum(rng.normal(0, 0.02, (len(CHANNELS), LENGTH)), axis=1)
    weight = rng.normal(0, 1, (len(CHANNELS), 5))
    signal = weight @ np.concatenate([season[None], 0.4 * mixing]) + 0.4 * drift
    signal += rng.normal(0, 0.7, signal.shape)
    turbid = rng.integers(0, LENGTH - 400, 3)
    for start in turbid:
        signal[:, start:start + rng.integers(60, 300)] *= 0.2
    return signal.astype(np.float16), edges.astype(np.float32)


def main():
    rng = np.random.default_rng(1911)
    store = {}
    for number in range(CORES):
        store[f"signal_{number:02d}"], store[f"edges_{number:02d}"] = make_core(rng)
    np.savez("cores.npz", **store)


if __name__ == "__main__":
    main()
