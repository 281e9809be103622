from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch.utils.data import Dataset

SETTINGS = [f"setting{i}" for i in range(1, 4)]
SENSORS = [f"s{i}" for i in range(1, 22)]
COLUMNS = ["unit", "cycle"] + SETTINGS + SENSORS
FLAT = ["setting3", "s1", "s5", "s10", "s16", "s18", "s19"]
FEATURES = [c for c in SETTINGS + SENSORS if c not in FLAT]


def read_records(path):
    return pd.read_csv(path, sep=r"\s+", header=None, names=COLUMNS)


def load(folder, cap):
    folder = Path(folder)
    train = read_records(folder / "train_FD001.txt")
    test = read_records(folder / "test_FD001.txt")
    left = pd.read_csv(folder / "RUL_FD001.txt", header=None)[0].to_numpy()

    mean, std = train[FEATURES].mean(), train[FEATURES].std()
    for frame in (train, test):
        frame[FEATURES] = ((frame[FEATURES] - mean) / std).astype(np.float32)

    life = train.groupby("unit")["cycle"].transform("max")
    train["rul"] = (life - train["cycle"]).clip(upper=cap).astype(np.float32)
    return train, test, np.minimum(left, cap).astype(np.float32)


class WindowDataset(Dataset):
    """All windows of `window` cycles, target is the remaining life at the last cycle."""

    def __init__(self, frame, window):
        self.window = window
        self.engines = {unit: rows[FEATURES + ["rul"]].reset_index(drop=True) for unit, rows in frame.groupby("unit")}
        self.index = [
            (unit, start)
            for unit, rows in self.engines.items()
            for start in range(len(rows) - window + 1)
        ]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        unit, start = self.index[i]
        rows = self.engines[unit].iloc[start:start + self.window]
        x = torch.tensor(rows[FEATURES].values, dtype=torch.float32)
        y = torch.tensor(rows["rul"].iloc[-1], dtype=torch.float32)
        return x, y


class LastWindowDataset(Dataset):
    """The last window of every engine still running."""

    def __init__(self, frame, left, window):
        self.windows = [rows[FEATURES].to_numpy(np.float32)[-window:] for _, rows in frame.groupby("unit")]
        self.left = left

    def __len__(self):
        return len(self.windows)

    def __getitem__(self, i):
        return torch.from_numpy(self.windows[i]), torch.tensor(self.left[i])
