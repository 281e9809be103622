import numpy as np
import torch
from torch.utils.data import Dataset


def level_crossings(signal, threshold):
    """Up and down events of each sensor whenever it has moved by the threshold."""
    channels, steps = signal.shape
    events = np.zeros((steps, 2 * channels), dtype=np.float32)
    reference = signal[:, 0].copy()
    for t in range(1, steps):
        diff = signal[:, t] - reference
        up = diff > threshold
        down = diff < -threshold
        events[t, :channels] = up
        events[t, channels:] = down
        reference[up] += threshold
        reference[down] -= threshold
    return events


class NoseDataset(Dataset):
    def __init__(self, path, threshold=0.05, baseline=8):
        data = np.load(path)
        self.signals = data["signals"]
        self.labels = data["labels"].astype(np.int64)
        self.threshold = threshold
        self.baseline = baseline

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        signal = self.signals[i]
        r0 = signal[:, :self.baseline].mean(axis=1, keepdims=True)
        signal = (signal - r0) / r0
        events = level_crossings(signal, self.threshold)
        return torch.from_numpy(events), self.labels[i]
