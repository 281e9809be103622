"""Synthetic single-lead ECG strips: a rhythm is drawn, then every beat is laid down as a sum of Gaussians."""
import math

import numpy as np
import torch

CLASSES = ["sinus", "tachycardia", "bigeminy", "dropped-beat", "fibrillation"]

# centre (s, relative to the R peak), width (s), amplitude (mV)
WAVES = [(-0.18, 0.025, 0.15), (-0.03, 0.010, -0.12), (0.0, 0.011, 1.0), (0.03, 0.010, -0.25), (0.22, 0.045, 0.3)]


def beat_times(kind, seconds, rng):
    rate = {"sinus": 1.1, "tachycardia": 2.1, "bigeminy": 1.3, "dropped-beat": 1.2, "fibrillation": 1.6}[kind]
    rate *= rng.uniform(0.85, 1.15)
    t, times, index = rng.uniform(0, 0.5), [], 0
    while t < seconds + 0.5:
        if not (kind == "dropped-beat" and index % 4 == 3):
            times.append(t)
        gap = 1.0 / rate
        if kind == "bigeminy":
            gap *= 0.65 if index % 2 == 0 else 1.35
        elif kind == "fibrillation":
            gap *= rng.uniform(0.55, 1.45)
        else:
            gap *= rng.normal(1.0, 0.02)
        t += gap
        index += 1
    return np.array(times)


def make_strip(kind, length, rate_hz, rng):
    t = np.arange(length) / rate_hz
    beats = beat_times(kind, length / rate_hz, rng)
    x = np.zeros(length)
    for i, (centre, width, amplitude) in enumerate(WAVES):
        if kind == "fibrillation" and i == 0:
            continue
        amplitude = amplitude * rng.uniform(0.8, 1.2)
        x += amplitude * np.exp(-0.5 * ((t[None] - beats[:, None] - centre) / width) ** 2).sum(0)
    if kind == "fibrillation":
        x += 0.06 * np.sin(2 * math.pi * rng.uniform(5, 8) * t + rng.uniform(0, 6))
    x += 0.15 * np.sin(2 * math.pi * rng.uniform(0.15, 0.4) * t + rng.uniform(0, 6))
    x += rng.normal(0, 0.12, length)
    return x.astype(np.float32)


def make_set(count, length, rate_hz, seed):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, len(CLASSES), count)
    x = np.stack([make_strip(CLASSES[k], length, rate_hz, rng) for k in y])
    x = (x - x.mean(1, keepdims=True)) / x.std(1, keepdims=True)
    return torch.from_numpy(x).unsqueeze(1), torch.from_numpy(y)


class Batches:
    """Endless shuffled batches from tensors in memory."""

    def __init__(self, x, y, batch_size, seed):
        self.x, self.y, self.batch_size = x, y, batch_size
        self.generator = torch.Generator().manual_seed(seed)

    def __iter__(self):
        while True:
            order = torch.randperm(len(self.x), generator=self.generator)
            for start in range(0, len(order) - self.batch_size + 1, self.batch_size):
                index = order[start : start + self.batch_size]
                yield self.x[index], self.y[index]
