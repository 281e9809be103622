from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch.utils.data import Dataset

TARGETS = ["temp", "humidity", "co2"]
INPUTS = ["temp", "humidity", "co2", "sun", "outside", "vent", "heating", "hour_sin", "hour_cos"]
CONTROLS = ["sun", "outside", "vent", "heating", "hour_sin", "hour_cos"]


def load_frames(folder):
    frames = []
    for path in sorted(Path(folder).glob("compartment_*.csv")):
        df = pd.read_csv(path, parse_dates=["time"])
        hour = df["time"].dt.hour + df["time"].dt.minute / 60
        df["hour_sin"] = np.sin(2 * np.pi * hour / 24)
        df["hour_cos"] = np.cos(2 * np.pi * hour / 24)
        frames.append(df)
    return frames


def split_frames(frames, fraction=0.85):
    train, val = [], []
    for df in frames:
        cut = int(len(df) * fraction)
        train.append(df.iloc[:cut].reset_index(drop=True))
        val.append(df.iloc[cut:].reset_index(drop=True))
    everything = pd.concat(train)[INPUTS]
    return train, val, everything.mean(), everything.std()


class ClimateWindows(Dataset):
    """History and future controls of a compartment, with the climate to be predicted."""

    def __init__(self, frames, mean, std, history=96, horizon=18, stride=6):
        self.frames = frames
        self.mean = mean
        self.std = std
        self.history = history
        self.horizon = horizon
        self.index = [(f, i) for f, df in enumerate(frames)
                      for i in range(0, len(df) - history - horizon, stride)]

    def __len__(self):
        return len(self.index)

    def __getitem__(self, i):
        f, start = self.index[i]
        window = self.frames[f].iloc[start:start + self.history + self.horizon]
        window = (window[INPUTS] - self.mean) / self.std
        past = window[INPUTS].iloc[:self.history].values
        future = window[CONTROLS].iloc[self.history:].values
        target = window[TARGETS].iloc[self.history:].values
        return (torch.tensor(past, dtype=torch.float32),
                torch.tensor(future, dtype=torch.float32),
                torch.tensor(target, dtype=torch.float32))
