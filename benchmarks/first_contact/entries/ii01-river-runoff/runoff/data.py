from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch.utils.data import Dataset

FORCINGS = ["prcp", "srad", "tmax", "tmin", "vp"]
PERIODS = {
    "train": ("1999-10-01", "2005-09-30"),
    "val": ("2005-10-01", "2006-09-30"),
}


def load_basin(path):
    df = pd.read_csv(path, parse_dates=["date"], index_col="date")
    df[FORCINGS] = df[FORCINGS].astype(np.float32)
    df["qobs"] = df["qobs"].astype(np.float32)
    return df


def load_attributes(root):
    attr = pd.read_csv(Path(root) / "attributes.csv", dtype={"gauge_id": str}).set_index("gauge_id")
    attr["area_gages2"] = np.log10(attr["area_gages2"])
    return (attr - attr.mean()) / attr.std()


class Scaler:
    """Means and standard deviations of the forcings over all basins of the training period."""

    def __init__(self, frames):
        start, end = PERIODS["train"]
        pooled = pd.concat([df.loc[start:end] for df in frames.values()])
        self.mean = pooled[FORCINGS].mean().to_numpy(np.float32)
        self.std = pooled[FORCINGS].std().to_numpy(np.float32)
        self.q_mean = float(pooled["qobs"].mean())
        self.q_std = float(pooled["qobs"].std())


class BasinWindows(Dataset):
    """Windows of `seq_length` days that end on the day whose discharge is predicted."""

    def __init__(self, frames, attributes, scaler, period, seq_length, basins=None, every=1):
        self.frames = frames
        self.scaler = scaler
        self.seq_length = seq_length
        self.attributes = {b: torch.tensor(attributes.loc[b].values, dtype=torch.float32) for b in frames}
        start, end = PERIODS[period]
        train = PERIODS["train"]
        self.q_stds = {b: float(df.loc[train[0]:train[1], "qobs"].std()) for b, df in frames.items()}
        self.samples = []
        for basin in basins or sorted(frames):
            df = frames[basin]
            days = df.loc[start:end].index
            first = df.index[0] + pd.Timedelta(days=seq_length - 1)
            self.samples += [(basin, day) for day in days[days >= first][::every]]

    def __len__(self):
        return len(self.samples)

    def __getitem__(self, i):
        basin, day = self.samples[i]
        df = self.frames[basin]
        window = df.loc[day - pd.Timedelta(days=self.seq_length - 1):day, FORCINGS].values
        x = torch.from_numpy((window - self.scaler.mean) / self.scaler.std)
        y = torch.tensor([(df.at[day, "qobs"] - self.scaler.q_mean) / self.scaler.q_std], dtype=torch.float32)
        return x, self.attributes[basin], y, torch.tensor([self.q_stds[basin]])
