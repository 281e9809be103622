"""Hourly electricity-like load for a few hundred meters."""
import numpy as np
import torch


def simulate(n_meters=200, hours=24 * 120, seed=4):
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    base = rng.uniform(0.5, 3.0, (n_meters, 1))
    phase = rng.uniform(0, 2 * np.pi, (n_meters, 1))
    daily = np.sin(2 * np.pi * t / 24 + phase) + 0.4 * np.sin(4 * np.pi * t / 24 + 2 * phase)
    weekly = 1 - 0.25 * rng.random((n_meters, 1)) * ((t // 24) % 7 >= 5)
    drift = np.cumsum(rng.normal(0, 0.01, (n_meters, hours)), axis=1)
    load = base * (1.5 + 0.6 * daily) * weekly + drift + rng.normal(0, 0.08, (n_meters, hours))
    return torch.from_numpy(load.astype(np.float32))


class Windows:
    """Random windows (history, future), scaled by the mean of the history."""

    def __init__(self, load, history, horizon):
        self.length = history + horizon
        self.history = history
        self.view = load.unfold(1, self.length, 1)

    def sample(self, n, generator):
        meters = torch.randint(self.view.shape[0], (n,), generator=generator)
        starts = torch.randint(self.view.shape[1], (n,), generator=generator)
        return self.scale(self.view[meters, starts])

    def last(self):
        return self.scale(self.view[:, -1])

    def scale(self, rows):
        past, future = rows.split([self.history, self.length - self.history], dim=1)
        level = past.abs().mean(1, keepdim=True)
        return past / level, future / level
