"""Simulated resting-state signals of brain parcels, for two groups of subjects."""
import numpy as np

SUBJECTS, PARCELS, TIMES, NETWORKS = 400, 100, 90, 7


def main():
    rng = np.random.default_rng(23)
    membership = rng.integers(0, NETWORKS, PARCELS)
    signals = np.empty((SUBJECTS, PARCELS, TIMES), np.float32)
    group = rng.integers(0, 2, SUBJECTS)
    for s in range(SUBJECTS):
        drive = rng.normal(size=(NETWORKS, TIMES))
        drive[3] += (0.25 + 0.5 * group[s]) * drive[5]
        own = rng.normal(size=(PARCELS, TIMES))
        strength = rng.uniform(0.5, 0.9, (PARCELS, 1))
        signals[s] = strength * drive[membership] + own
    order = rng.permutation(SUBJECTS)
    np.savez("parcels.npz", signals=signals[order], group=group[order])


if __name__ == "__main__":
    main()
