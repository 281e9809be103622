import numpy as np
import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset


def make_frame(hours=12000, channels=16, seed=5):
    """Hourly load of some substations: daily and weekly rhythm, weather, slow growth, noise."""
    rng = np.random.default_rng(seed)
    index = pd.date_range("2021-01-01", periods=hours, freq="h")
    t = np.arange(hours)[:, None]
    phase = rng.uniform(0, 2 * np.pi, channels)
    daily = np.sin(2 * np.pi * t / 24 + phase) + 0.4 * np.sin(4 * np.pi * t / 24 + 2 * phase)
    weekly = 0.5 * np.sin(2 * np.pi * t / 168 + phase / 2)
    weather = np.zeros((hours, channels))
    shock = rng.normal(0, 0.12, (hours, channels))
    for i in range(1, hours):
        weather[i] = 0.97 * weather[i - 1] + shock[i]
    level = rng.uniform(20, 90, channels)
    load = level * (1 + 0.15 * daily + 0.1 * weekly + 0.08 * weather + t / hours * rng.uniform(0, 0.3, channels))
    return pd.DataFrame(load, index=index, columns=[f"sub_{i:02d}" for i in range(channels)])


def calendar_features(index):
    hour, dow, doy = index.hour.to_numpy(), index.dayofweek.to_numpy(), index.dayofyear.to_numpy()
    cols = []
    for value, period in ((hour, 24), (dow, 7), (doy, 365.25)):
        cols += [np.sin(2 * np.pi * value / period), np.cos(2 * np.pi * value / period)]
    return np.stack(cols, 1).astype(np.float32)


class WindowDataset(Dataset):
    def __init__(self, frame, flag, seq_len, pred_len):
        n = len(frame)
        borders = {"train": (0, int(n * 0.8)), "val": (int(n * 0.8) - seq_len, int(n * 0.9)),
                   "test": (int(n * 0.9) - seq_len, n)}
        train = frame.iloc[slice(*borders["train"])]
        self.mean, self.std = train.mean().to_numpy(np.float32), train.std().to_numpy(np.float32)
        lo, hi = borders[flag]
        values = (frame.to_numpy(np.float32) - self.mean) / self.std
        self.data = torch.from_numpy(values[lo:hi].copy())
        self.marks = torch.from_numpy(calendar_features(frame.index[lo:hi]))
        self.seq_len, self.pred_len = seq_len, pred_len

    def __len__(self):
        return len(self.data) - self.seq_len - self.pred_len + 1

    def __getitem__(self, i):
        m = i + self.seq_len
        e = m + self.pred_len
        return self.data[i:m], self.marks[i:e], self.data[m:e]


def data_provider(frame, flag, args):
    data_set = WindowDataset(frame, flag, args.seq_len, args.pred_len)
    if flag == "train":
        shuffle, drop_last, batch_size = True, True, args.batch_size
    else:
        shuffle, drop_last, batch_size = False, False, 1
    return data_set, DataLoader(data_set, batch_size=batch_size, shuffle=shuffle, drop_last=drop_last)
