import numpy as np
import pandas as pd
import torch
from torch.utils.data import Dataset


def read_frame(path):
    return pd.read_csv(path, parse_dates=["timestamp"], index_col="timestamp")


def split_frame(frame, val_days, past):
    """Last val_days for validation; the history before them is still visible to the encoder."""
    border = len(frame) - val_days * 24
    return frame.iloc[:border], frame.iloc[border - past:]


def calendar_features(index):
    hour = index.hour.to_numpy()
    day = index.day_of_week.to_numpy()
    year = index.day_of_year.to_numpy()
    return np.stack([
        np.sin(2 * np.pi * hour / 24), np.cos(2 * np.pi * hour / 24),
        np.sin(2 * np.pi * day / 7), np.cos(2 * np.pi * day / 7),
        np.sin(2 * np.pi * year / 365.25), np.cos(2 * np.pi * year / 365.25),
    ], axis=1)


class ZoneStats:
    """Mean and deviation per column, taken from the training part."""

    def __init__(self, frame):
        self.mean = frame.mean().to_dict()
        self.std = frame.std().to_dict()

    def scale(self, column, values):
        return (values - self.mean[column]) / self.std[column]


class LoadWindows(Dataset):
    def __init__(self, frame, stats, past=168, horizon=24, stride=24):
        self.frame = frame
        self.stats = stats
        self.past = past
        self.horizon = horizon
        self.zones = [c for c in frame.columns if c.startswith("zone_")]
        starts = range(0, len(frame) - past - horizon + 1, stride)
        self.windows = [(zone, start) for zone in self.zones for start in starts]

    def __len__(self):
        return len(self.windows)

    def __getitem__(self, item):
        zone, start = self.windows[item]
        rows = self.frame.iloc[start:start + self.past + self.horizon]
        station = f"temp_{self.zones.index(zone) % 4}"
        load = self.stats.scale(zone, rows[zone]).to_numpy()
        covariates = np.concatenate([
            calendar_features(rows.index),
            self.stats.scale(station, rows[[station]]).to_numpy(),
            rows[["holiday"]].to_numpy(),
        ], axis=1)
        past = np.concatenate([load[:self.past, None], covariates[:self.past]], axis=1)
        return (torch.tensor(past, dtype=torch.float32),
                torch.tensor(covariates[self.past:], dtype=torch.float32),
                torch.tensor(load[self.past:], dtype=torch.float32),
                self.zones.index(zone))
