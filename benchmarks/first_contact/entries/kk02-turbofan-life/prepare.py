"""Write run-to-failure records of turbofan engines in the column layout of C-MAPSS (simulated here)."""
import argparse
from pathlib import Path

import numpy as np


def engine(rng, unit):
    life = int(np.clip(rng.normal(205, 45), 130, 360))
    t = np.arange(1, life + 1)
    settings = np.stack([rng.normal(0, 0.002, life), rng.normal(0, 0.0003, life), np.full(life, 100.0)], 1)
    onset = rng.uniform(0.3, 0.6) * life
    wear = np.clip((t - onset) / (life - onset), 0, None) ** rng.uniform(1.3, 2.2)
    wear = wear + rng.uniform(0, 0.08)
    direction = SIGNS * rng.uniform(0.8, 1.2, 21)
    sensors = LEVEL * (1 + SPREAD * (direction * wear[:, None] * 2.5 + rng.standard_normal((life, 21)) * 0.7))
    ids = np.stack([np.full(life, unit), t], 1)
    return np.concatenate([ids, settings, sensors], 1)


SIGNS = np.array([0, 1, 1, 1, 0, 0.1, -1, 1, 1, 0, 1, -1, 1, 1, 1, 0, 1, 0, 0, -1, -1], float)
LEVEL = np.array([518.67, 642, 1590, 1408, 14.62, 21.61, 553, 2388, 9065, 1.3, 47.5, 521, 2388, 8143, 8.44, 0.03, 393, 2388, 100, 38.8, 23.3])
SPREAD = np.array([0, 8, 38, 64, 0, 0.6, 16, 0.3, 24, 0, 56, 14, 0.3, 23, 45, 0, 39, 0, 0, 47, 46]) * 1e-4


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="data")
    parser.add_argument("--train-units", type=int, default=36)
    parser.add_argument("--test-units", type=int, default=30)
    args = parser.parse_args()
    rng = np.random.default_rng(11)
    out = Path(args.out)
    out.mkdir(exist_ok=True)
    fmt = ["%d", "%d"] + ["%.4f"] * 24
    train = np.concatenate([engine(rng, u) for u in range(1, args.train_units + 1)])
    np.savetxt(out / "train_FD001.txt", train, fmt=fmt)
    test, left = [], []
    for unit in range(1, args.test_units + 1):
        rows = engine(rng, unit)
        stop = rng.integers(60, len(rows) - 5)
        test.append(rows[:stop])
        left.append(len(rows) - stop)
    np.savetxt(out / "test_FD001.txt", np.concatenate(test), fmt=fmt)
    np.savetxt(out / "RUL_FD001.txt", np.array(left), fmt="%d")


if __name__ == "__main__":
    main()
