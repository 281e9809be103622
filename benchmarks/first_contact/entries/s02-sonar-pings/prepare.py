"""Simulate side-scan sonar pings and store them by dive, one .npz archive a dive."""
import argparse
from pathlib import Path

import numpy as np


def simulate_dive(pings, beams, bins, rng):
    """Echo intensity by beam and range bin for a boat passing over a slowly changing sea floor."""
    depth = 0.35 + 0.25 * np.cumsum(rng.normal(0, 0.02, pings)).clip(-1, 1)
    tilt = 0.3 * np.sin(np.linspace(0, rng.uniform(2, 9), pings) + rng.uniform(0, 6))
    rough = rng.uniform(0.2, 1.0)
    b = np.linspace(-1, 1, beams)[None, :, None]
    r = np.linspace(0, 1, bins)[None, None, :]
    floor = (depth[:, None, None] + 0.2 * tilt[:, None, None] * b + 0.15 * b**2).clip(0.05, 0.95)
    echo = np.exp(-0.5 * ((r - floor) / (0.015 + 0.03 * rough)) ** 2) * (1 - 0.4 * np.abs(b))
    echo += 0.25 * rough * np.exp(-(r - floor).clip(0) * 9) * (r > floor)
    echo *= rng.gamma(4.0, 0.25, echo.shape)
    echo += rng.exponential(0.05, echo.shape)
    target = np.stack([depth, tilt, np.full(pings, rough)], axis=1)
    return np.log1p(4 * echo).astype(np.float32), target.astype(np.float32)


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--out", type=Path, default=Path("dives"))
    p.add_argument("--dives", type=int, default=20)
    p.add_argument("--pings", type=int, default=64)
    p.add_argument("--beams", type=int, default=32)
    p.add_argument("--bins", type=int, default=64)
    args = p.parse_args()
    args.out.mkdir(parents=True, exist_ok=True)
    for k in range(args.dives):
        rng = np.random.default_rng(1000 + k)
        echo, target = simulate_dive(args.pings, args.beams, args.bins, rng)
        np.savez(args.out / f"dive_{k:03d}.npz", echo=echo, target=target)
    print(f"{args.dives} dives of {args.pings} pings in {args.out}")


if __name__ == "__main__":
    main()
