"""Simulated tanker tracks: hourly displacements between ports, with legs, weather and slow-downs near coasts."""
import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

PORTS = np.array([[51.9, 4.1], [29.3, 48.0], [1.3, 103.8], [29.7, -94.9], [-23.9, -46.3], [35.3, 139.7], [5.9, 1.3], [40.4, 29.0]])


def simulate(count, seed):
    rng = np.random.default_rng(seed)
    tracks = []
    for _ in range(count):
        a, b = rng.choice(len(PORTS), 2, replace=False)
        length = int(rng.integers(40, 121))
        start, end = PORTS[a] + rng.normal(0, 1, 2), PORTS[b] + rng.normal(0, 1, 2)
        s = np.linspace(0, 1, length)
        bend = rng.normal(0, 6, 2)
        path = start + (end - start) * s[:, None] + bend * np.sin(np.pi * s)[:, None]
        path += np.cumsum(rng.normal(0, 0.03, (length, 2)), 0)
        moves = np.diff(path, axis=0)
        sea = rng.normal(0, 1) + np.cumsum(rng.normal(0, 0.1, length - 1))
        slow = 1 - 0.4 * np.exp(-np.minimum(s[1:], 1 - s[1:]) * 15)
        moves = moves * slow[:, None] * (1 - 0.05 * np.tanh(sea))[:, None]
        place = path[:-1] / np.array([60.0, 150.0])
        draught = np.full(length - 1, rng.uniform(0.5, 1.0))
        features = np.column_stack([moves, place, sea, draught, np.sin(2 * np.pi * np.arange(length - 1) / 24)])
        tracks.append(torch.from_numpy(features.astype(np.float32)))
    return tracks


class Buckets:
    """Batches of tracks of like length, time first; shuffled batches, and tracks shuffled among neighbours."""

    def __init__(self, tracks, batch, seed):
        self.tracks, self.batch = tracks, batch
        self.lengths = np.array([len(t) for t in tracks])
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.tracks) // self.batch

    def __iter__(self):
        order = np.argsort(self.lengths + self.rng.uniform(0, 2, len(self.lengths)))
        offset = self.rng.integers(0, len(order) % self.batch + 1)
        groups = order[offset:offset + len(self) * self.batch].reshape(-1, self.batch)
        for group in self.rng.permutation(groups):
            padded = pad_sequence([self.tracks[i] for i in group])
            lengths = torch.from_numpy(self.lengths[group])
            steps = torch.arange(padded.shape[0] - 1)[:, None]
            yield padded[:-1], padded[1:, :, :2], (steps < lengths - 1).float()
