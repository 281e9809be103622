"""Simulated exposures of a sixteen-sensor gas array to ten odours."""
import numpy as np

SENSORS, STEPS, ODOURS = 16, 64, 10


def exposure(rng, affinity, n):
    t = np.arange(STEPS)
    conc = rng.uniform(0.5, 1.5, size=(n, 1, 1))
    onset = rng.integers(8, 16, size=(n, 1, 1))
    stop = onset + rng.integers(18, 30, size=(n, 1, 1))
    rise = rng.uniform(4, 9, size=(1, SENSORS, 1)) * rng.uniform(0.9, 1.1, size=(n, SENSORS, 1))
    up = 1 - np.exp(-np.clip(t - onset, 0, None) / rise)
    down = np.exp(-np.clip(t - stop, 0, None) / (2 * rise))
    drift = rng.normal(0, 0.002, size=(n, SENSORS, 1)) * t
    noise = rng.normal(0, 0.03, size=(n, SENSORS, STEPS))
    base = rng.uniform(5, 9, size=(n, SENSORS, 1))
    return base * (1 + affinity[None, :, None] * conc * up * down + drift + noise)


if __name__ == "__main__":
    rng = np.random.default_rng(3)
    signals, labels = [], []
    affinity = rng.uniform(0.1, 1.2, size=(ODOURS, SENSORS))
    for k in range(ODOURS):
        signals.append(exposure(rng, affinity[k], 200))
        labels.append(np.full(200, k))
    signals = np.concatenate(signals).astype(np.float32)
    labels = np.concatenate(labels)
    order = rng.permutation(len(labels))
    signals, labels = signals[order], labels[order]
    np.savez("train.npz", signals=signals[:1536], labels=labels[:1536])
    np.savez("test.npz", signals=signals[1536:], labels=labels[1536:])
    print("wrote train.npz, test.npz")
