"""Vineyard temperature loggers on a slope: a frost night is a sequence of readings that cool, drain downhill and mix."""
from dataclasses import dataclass

import numpy as np
import torch


@dataclass
class Site:
    position: torch.Tensor      # sensors x 3, in hundred metres
    edges: torch.Tensor         # 2 x links (from, to)
    bearing: torch.Tensor       # links x 4
    walk: torch.Tensor          # sensors x sensors, rows sum to one


def make_site(sensors, neighbours, seed):
    rng = np.random.default_rng(seed)
    xy = rng.uniform(0, 10, (sensors, 2))
    height = 0.15 * xy[:, 0] + 0.3 * np.sin(xy[:, 1]) + 0.1 * np.cos(2 * xy[:, 0])
    xyz = np.column_stack([xy, height])
    distance = np.linalg.norm(xy[:, None] - xy[None], axis=-1)
    np.fill_diagonal(distance, np.inf)
    near = np.argsort(distance, 1)[:, :neighbours]
    to = np.repeat(np.arange(sensors), neighbours)
    source = near.reshape(-1)
    gap = xyz[source] - xyz[to]
    bearing = np.column_stack([gap, distance[source, to]])
    walk = np.zeros((sensors, sensors))
    walk[to, source] = np.exp(-distance[source, to] / 0.3)
    walk[np.arange(sensors), np.arange(sensors)] = 1.0
    walk /= walk.sum(1, keepdims=True)
    as_float = lambda a: torch.from_numpy(np.asarray(a, dtype=np.float32))
    return Site(as_float(xyz), torch.from_numpy(np.stack([source, to])), as_float(bearing), as_float(walk))


class Nights:
    """Readings: nights x hours x sensors x features (temperature, humidity, wind)."""

    def __init__(self, site, nights, hours, seed):
        rng = np.random.default_rng(seed)
        count = len(site.position)
        height = site.position[:, 2].numpy()
        walk = site.walk.numpy()
        temperature = rng.normal(6, 2, (nights, 1)) + 1.5 * height + rng.normal(0, 0.3, (nights, count))
        humidity = rng.uniform(0.4, 0.9, (nights, 1)) * np.ones((1, count))
        self.readings = np.empty((nights, hours, count, 3), dtype=np.float32)
        for h in range(hours):
            wind = np.abs(rng.normal(1, 0.6, (nights, 1))) * np.ones((1, count))
            cooling = 0.5 * (1.1 - humidity) / (0.5 + wind)
            temperature = 0.6 * temperature + 0.4 * temperature @ walk.T - cooling + 0.1 * height + rng.normal(0, 0.05, (nights, count))
            humidity = np.clip(humidity + 0.01 * (5 - temperature) / 5, 0.2, 1.0)
            self.readings[:, h] = np.stack([temperature, humidity, wind], -1)
        self.hours = hours

    def sample(self, rows, past, ahead, rng):
        start = rng.integers(0, self.hours - past - ahead + 1, len(rows))
        inputs, targets = [], []
        for night, s in zip(rows, start):
            window = self.readings[night, s:s + past + ahead]
            inputs.append(window[:past].transpose(1, 0, 2).reshape(window.shape[1], -1))
            targets.append(window[past:, :, 0].T)
        return torch.from_numpy(np.stack(inputs)), torch.from_numpy(np.stack(targets))
