import numpy as np
import torch
from torch.utils.data import Dataset

WINDOW = 1024
REACH = 24.0


def load_cores(path):
    cores = []
    with np.load(path) as store:
        names = sorted(name for name in store.files if name.startswith("signal"))
        for name in names:
            signal = store[name].astype(np.float32)
            signal -= signal.mean(axis=1, keepdims=True)
            signal /= signal.std(axis=1, keepdims=True)
            cores.append((signal, store[name.replace("signal", "edges")]))
    return cores


def nearest_edge(depth, edges):
    """Distance from every sample to the closest varve boundary, in samples."""
    return np.abs(depth[:, None] - edges[None, :]).min(axis=1)


class CoreWindows(Dataset):
    """Random windows of the cores, `per_epoch` of them an epoch."""

    def __init__(self, cores, per_epoch, seed=0):
        self.cores = cores
        self.per_epoch = per_epoch
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return self.per_epoch

    def __getitem__(self, index):
        signal, edges = self.cores[index % len(self.cores)]
        start = int(self.rng.integers(0, signal.shape[1] - WINDOW))
        window = signal[:, start:start + WINDOW].copy()
        window *= self.rng.normal(1.0, 0.1, (len(window), 1)).astype(np.float32)
        window += self.rng.normal(0.0, 0.1, (len(window), 1)).astype(np.float32)

        depth = np.arange(start, start + WINDOW, dtype=np.float32)
        distance = nearest_edge(depth, edges)
        target = np.stack([np.exp(-0.5 * (distance / 1.5) ** 2), np.minimum(distance, REACH) / REACH])
        if self.rng.random() < 0.5:
            window, target = window[:, ::-1].copy(), target[:, ::-1].copy()
        return torch.from_numpy(window), torch.from_numpy(target)


def whole_core(core):
    """One core cut into windows without overlap, for validation."""
    signal, edges = core
    count = signal.shape[1] // WINDOW
    windows = signal[:, :count * WINDOW].reshape(len(signal), count, WINDOW).transpose(1, 0, 2)
    return torch.from_numpy(np.ascontiguousarray(windows)), edges[edges < count * WINDOW]
