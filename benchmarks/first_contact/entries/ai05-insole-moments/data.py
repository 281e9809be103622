"""Strides from the pressure insoles (100 Hz) with joint moments from the force plates."""
import numpy as np
import torch
from torch.utils.data import Dataset

SENSORS = 32
POINTS = 101
WINDOW = np.hanning(7)[1:-1] / np.hanning(7)[1:-1].sum()


def clean_stride(raw):
    """One stride (frames, channels) -> (channels, 101): offsets off, smoothed, 0..100 % of the gait cycle."""
    frames, channels = raw.shape
    percent = np.linspace(0, 1, POINTS)
    clock = np.linspace(0, 1, frames)
    out = np.empty((channels, POINTS), dtype=np.float32)
    for c in range(channels):
        signal = raw[:, c]
        if c < SENSORS:
            signal = signal - signal[-8:].mean()
        signal = np.convolve(signal, WINDOW, mode="same")
        out[c] = np.interp(percent, clock, signal)
    return out


class StrideDataset(Dataset):
    """Strides of the given walkers; training strides get sensor gains and dead sensors."""

    def __init__(self, path, walkers, augment=False, seed=0):
        with np.load(path) as f:
            signals, lengths = f["signals"], f["lengths"]
            moments, toe_off, walker = f["moments"], f["toe_off"], f["walker"]
        ends = np.cumsum(lengths)
        keep = np.flatnonzero(np.isin(walker, walkers))
        self.raw = [signals[ends[i] - lengths[i]:ends[i]] for i in keep]
        self.moments = torch.from_numpy(moments[keep])
        self.toe_off = torch.from_numpy(toe_off[keep])
        self.augment = augment
        self.rng = np.random.default_rng(seed)
        self.scale = np.concatenate([np.full(SENSORS, 1 / 60), np.ones(signals.shape[1] - SENSORS)])
        self.scale = self.scale.astype(np.float32)[:, None]

    def __len__(self):
        return len(self.raw)

    def __getitem__(self, i):
        x = clean_stride(self.raw[i]) * self.scale
        if self.augment:
            gain = self.rng.normal(1.0, 0.08, size=(SENSORS, 1)).astype(np.float32)
            x[:SENSORS] *= gain
            if self.rng.random() < 0.3:
                x[self.rng.integers(SENSORS)] = 0.0
        return torch.from_numpy(x), self.moments[i], self.toe_off[i]
