"""Writes data/strokes.npz: pen trajectories as (dx, dy, lift) with offsets, written by a made-up hand."""
import argparse
import os

import numpy as np


def letter(rng, spec, slant, scale, wobble):
    pieces = []
    for strokes in spec:
        n = int(rng.integers(7, 13))
        t = np.linspace(0, 1, n)
        curve = sum(a[None] * np.sin(np.pi * k * t + b[None].T).T for k, (a, b) in enumerate(strokes, 1))
        curve = curve * scale + rng.normal(0, wobble, size=curve.shape)
        curve[:, 0] += slant * curve[:, 1]
        pieces.append(curve)
    return pieces


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", default="data")
    parser.add_argument("--lines", type=int, default=2000)
    parser.add_argument("--held-out", type=int, default=256)
    args = parser.parse_args()
    rng = np.random.default_rng(12)
    alphabet = [
        [[(rng.normal(0, 0.5 / k, size=2), rng.uniform(0, np.pi, size=2)) for k in range(1, 4)] for _ in range(rng.integers(1, 3))]
        for _ in range(26)
    ]
    points, lengths = [], []
    for _ in range(args.lines):
        slant, scale, wobble = rng.normal(0.2, 0.15), rng.uniform(0.7, 1.3), rng.uniform(0.01, 0.03)
        x, path, lift = 0.0, [], []
        for _ in range(rng.integers(4, 13)):
            for piece in letter(rng, alphabet[rng.integers(26)], slant, scale, wobble):
                path.append(piece + [x, 0.0])
                lift.append(np.r_[np.zeros(len(piece) - 1), 1.0])
            x += 1.1 * scale
        path, lift = np.concatenate(path), np.concatenate(lift)
        points.append(np.column_stack([np.diff(path, axis=0), lift[1:]]).astype(np.float32))
        lengths.append(len(points[-1]))
    offsets = np.concatenate([[0], np.cumsum(lengths)])
    os.makedirs(args.out, exist_ok=True)
    np.savez(os.path.join(args.out, "strokes.npz"), points=np.concatenate(points), offsets=offsets, held_out=args.held_out)


if __name__ == "__main__":
    main()
