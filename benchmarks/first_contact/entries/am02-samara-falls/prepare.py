"""Make the drop-tower recordings: wing outlines, tracks and the calibration of the camera rigs."""

from pathlib import Path

import numpy as np

SAMARAS = 1500
POINTS = 128
FRAMES = 21
RIGS = 12


def outline(rng):
    """A maple samara's outline: nut at the left, blade to the right; x, y, thickness, areal density."""
    t = np.linspace(0, 2 * np.pi, POINTS, endpoint=False)
    length = rng.uniform(2.6, 4.8)
    chord = rng.uniform(0.8, 1.5)
    sweep = rng.normal(0.0, 0.25)
    x = length * (0.5 - 0.5 * np.cos(t))
    y = 0.5 * chord * np.sin(t) * (0.45 + 0.55 * x / length) + sweep * (x / length) ** 2
    y += 0.02 * np.cumsum(rng.normal(size=POINTS)) / np.sqrt(POINTS)
    thick = 0.35 * np.exp(-x / 0.6) + 0.04 + 0.05 * (np.sin(t) > 0)
    dense = 1.2 * np.exp(-((x / 0.7) ** 2)) + 0.15 + 0.02 * rng.normal(size=POINTS)
    loading = dense.mean() / (length * chord)
    return np.stack([x, y, thick, dense]).astype(np.float32), length, chord, sweep, loading


def fall(rng, length, chord, sweep, loading):
    """Tumble, then autorotation: the spin comes up over the first frames, the sink rate goes down."""
    frames = np.arange(FRAMES)
    onset = rng.uniform(4, 14) + 6 * abs(sweep)
    spun = 1 / (1 + np.exp(-(frames - onset) / 2.0))
    rate = 2 * np.pi * (0.11 + 0.05 * chord / length) * spun
    phase = rng.uniform(0, 2 * np.pi) + np.cumsum(rate)
    sink = 0.9 - 0.5 * spun + 6.0 * loading
    radius = 0.35 * length / 4 * spun + 0.05
    drift = rng.normal(scale=0.03, size=2)
    step = np.stack([radius * np.cos(phase) + drift[0], radius * np.sin(phase) + drift[1], -sink], 1)
    step += rng.normal(scale=0.03, size=step.shape) * (1.5 - spun)[:, None]
    return np.cumsum(step, 0)


def rotation(rng):
    q, r = np.linalg.qr(np.eye(3) + 0.2 * rng.normal(size=(3, 3)))
    return q * np.sign(np.diag(r))


def main():
    rng = np.random.default_rng(713)
    here = Path(__file__).parent / "recordings"
    here.mkdir(exist_ok=True)

    rotations = np.stack([rotation(rng) for _ in range(RIGS)])
    origins = rng.normal(scale=3.0, size=(RIGS, 3))
    outlines, tracks, rigs = [], [], []
    for _ in range(SAMARAS):
        wing, *shape = outline(rng)
        rig = rng.integers(RIGS)
        world = fall(rng, *shape)
        outlines.append(wing)
        tracks.append((world @ rotations[rig].T + origins[rig]).astype(np.float32))
        rigs.append(rig)

    np.savez(here / "drops.npz", outline=np.stack(outlines), track=np.stack(tracks), rig=np.array(rigs))
    np.savez(here / "rigs.npz", rotation=rotations, origin=origins)


if __name__ == "__main__":
    main()
