"""Reads the table of docks and cuts it into windows."""
import numpy as np
import pandas as pd
import torch
from torch.utils.data import DataLoader, Dataset

TARGET = "fill"
CALENDAR = ["hour_sin", "hour_cos", "weekend"]
WEATHER = ["temperature", "rain", "wind"]
PAST = [TARGET, "departures", "arrivals"] + WEATHER + CALENDAR
FUTURE = WEATHER + CALENDAR


def load_table(path):
    table = pd.read_csv(path, parse_dates=["time"])
    table["fill"] = table["bikes"] / table["capacity"]
    hour = table["time"].dt.hour
    table["hour_sin"] = np.sin(hour / 24 * 2 * np.pi)
    table["hour_cos"] = np.cos(hour / 24 * 2 * np.pi)
    table["weekend"] = (table["time"].dt.dayofweek >= 5).astype(float)
    for column in ["departures", "arrivals"] + WEATHER:
        table[column] = (table[column] - table[column].mean()) / table[column].std()
    return table


class DockWindows(Dataset):
    """One item: a station, its past features, its coming (known) features and its coming fill level."""

    def __init__(self, table, history, horizon, stride):
        self.history, self.horizon = history, horizon
        self.stations = {number: frame.reset_index(drop=True) for number, frame in table.groupby("station")}
        self.windows = []
        for number, frame in self.stations.items():
            for start in range(0, len(frame) - history - horizon + 1, stride):
                self.windows.append((number, start))

    def __len__(self):
        return len(self.windows)

    def __getitem__(self, index):
        number, start = self.windows[index]
        frame = self.stations[number]
        middle, end = start + self.history, start + self.history + self.horizon
        past = frame.iloc[start:middle][PAST].values
        future = frame.iloc[middle:end][FUTURE].values
        target = frame.iloc[middle:end][TARGET].values
        return (
            torch.tensor(number),
            torch.tensor(past, dtype=torch.float32),
            torch.tensor(future, dtype=torch.float32),
            torch.tensor(target, dtype=torch.float32),
        )


def make_loaders(config):
    table = load_table(config.csv)
    border = table["time"].min() + (table["time"].max() - table["time"].min()) * 0.8
    train = DockWindows(table[table["time"] <= border], config.history, config.horizon, config.stride)
    val = DockWindows(table[table["time"] > border], config.history, config.horizon, config.horizon)
    train_loader = DataLoader(train, batch_size=config.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val, batch_size=config.batch_size * 2)
    return train_loader, val_loader, table["station"].nunique()
