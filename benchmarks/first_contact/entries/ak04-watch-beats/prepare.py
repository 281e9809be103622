"""Simulated timegrapher recordings: band envelopes of mechanical watches on a contact microphone.

    python prepare.py            writes beats.npz (15 MB) next to this file

A lever escapement makes three sounds a beat: the unlocking, the impulse and the drop. The time between the
first and the last tells how far the balance swings (the amplitude, in degrees of a given lift angle), the
difference between tick and tock is the beat error, and the spacing gives the beat rate.
"""
from pathlib import Path

import numpy as np

RATE = 1000                      # envelope frames a second
FRAMES = 3072
BANDS = 4
BPH = np.array([18000, 19800, 21600, 28800])
LIFT = 52.0


def strike(track, at, loud, colour, decay):
    first = int(np.ceil(at))
    if first < 0 or first >= track.shape[1]:
        return
    last = min(first + 40, track.shape[1])
    tail = np.exp(-(np.arange(first, last) - at)[None, :] / decay[:, None])
    track[:, first:last] += loud * colour[:, None] * tail


def record(rng):
    kind = rng.integers(len(BPH))
    beat = 3600.0 / BPH[kind] * RATE                           # frames between beats
    amplitude = rng.uniform(170.0, 320.0)
    error = rng.normal(0.0, 1.6)                               # frames = ms
    phase = rng.uniform(0.0, 2.0 * beat)
    swing = 2.0 * beat * np.arcsin(LIFT / 2 / amplitude) / np.pi * 1.9
    colours = rng.gamma(3.0, 0.35, (3, BANDS))
    decay = rng.uniform(1.5, 5.0, BANDS)
    track = np.zeros((BANDS, FRAMES))
    number = int(np.ceil(FRAMES / beat)) + 2
    for n in range(-2, number):
        at = phase + n * beat + (error if n % 2 else 0.0) + rng.normal(0.0, 0.15)
        strike(track, at - swing, 0.5 * rng.uniform(0.8, 1.2), colours[0], decay)
        strike(track, at - 0.55 * swing, 0.3 * rng.uniform(0.6, 1.4), colours[1], decay)
        strike(track, at, rng.uniform(0.8, 1.2), colours[2], decay)
    floor = rng.gamma(2.0, 0.04, (BANDS, FRAMES)) * rng.uniform(0.5, 2.0, (BANDS, 1))
    level = np.log(track + floor + 1e-3)
    level = (level - level.min()) / (level.max() - level.min())
    return np.round(255 * level).astype(np.uint8), (kind, amplitude, error, phase)


def main():
    rng = np.random.default_rng(1675)
    tracks, labels = zip(*(record(rng) for _ in range(1216)))
    np.savez(
        Path(__file__).with_name("beats.npz"),
        tracks=np.stack(tracks),
        labels=np.array(labels, dtype=np.float32),
        bph=BPH,
    )


if __name__ == "__main__":
    main()
