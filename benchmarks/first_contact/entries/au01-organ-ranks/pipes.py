"""Single notes of organ pipes, made from a seed: partials by rank, chiff at the onset, wind noise."""
import numpy as np
import torch

RANKS = ["principal", "gedackt", "rohrflute", "quintadena", "gamba", "salicional", "oboe", "krummhorn", "trumpet", "cornet"]
RATE = 8000


def notes(count, seconds=1.0, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(int(RATE * seconds)) / RATE
    shapes = np.random.default_rng(99).gamma(0.7, 1.0, (len(RANKS), 14)) * np.exp(-0.22 * np.arange(14))
    shapes[[1, 3], 1::2] *= 0.05
    waves = np.empty((count, len(t)), np.float32)
    label = rng.integers(0, len(RANKS), count)
    for i, r in enumerate(label):
        f0 = 65.4 * 2 ** (rng.integers(0, 36) / 12 + rng.normal(0, 0.003))
        k = np.arange(1, 15)
        k = k[k * f0 < RATE / 2]
        amp = shapes[r, : len(k)] * rng.lognormal(0, 0.25, len(k))
        tone = (amp[:, None] * np.sin(2 * np.pi * k[:, None] * f0 * t + rng.uniform(0, 6.28, (len(k), 1)))).sum(0)
        rise = 1 - np.exp(-t / rng.uniform(0.01, 0.06))
        chiff = rng.normal(0, 1, len(t)) * np.exp(-t / 0.03) * rng.uniform(0, 0.6)
        wave = tone * rise + chiff + rng.normal(0, 0.03, len(t))
        waves[i] = wave / np.abs(wave).max()
    return torch.from_numpy(waves), torch.from_numpy(label)


def rooms(count=24, length=1024, seed=5):
    rng = np.random.default_rng(seed)
    t = np.arange(length) / RATE
    decay = rng.uniform(0.01, 0.05, (count, 1))
    taps = rng.normal(0, 1, (count, length)) * np.exp(-t / decay) * 0.25
    taps[:, 0] = 1.0
    return torch.from_numpy(taps.astype(np.float32))
