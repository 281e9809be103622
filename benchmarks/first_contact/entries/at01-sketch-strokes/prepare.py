"""cat.npz as sketch-rnn reads it: object arrays of (n, 3) int16 strokes (dx, dy, pen lifted), lengths as in QuickDraw's cats."""
import numpy as np

rng = np.random.default_rng(11)


def drawing(longest):
    n = int(np.clip(rng.gamma(6.0, 9.0), 12, longest))
    pts, at = [], np.zeros(2)
    while len(pts) < n:
        k = int(rng.integers(4, 16))
        centre, radius, phase = rng.normal(0, 60, 2), rng.uniform(10, 70), rng.uniform(0, 6.28)
        turn = np.linspace(0, rng.uniform(1.0, 6.3), k) + phase
        line = centre + radius * np.stack([np.cos(turn), np.sin(turn)], 1) + rng.normal(0, 2, (k, 2))
        for j, p in enumerate(line):
            pts.append([*(p - at), 1 if j == k - 1 else 0])
            at = p
    pts = np.array(pts[:n])
    pts[-1, 2] = 1
    return np.round(pts).astype(np.int16)


def pile(n):
    out = np.empty(n, dtype=object)
    for i in range(n):
        out[i] = drawing(129)
    return out


np.savez_compressed("cat.npz", train=pile(4000), valid=pile(200), test=pile(200))
