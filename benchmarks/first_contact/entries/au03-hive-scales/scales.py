"""Weights of bee hives by the hour with the weather, drawn from a seed; windows for the forecast of the next day."""
import numpy as np
import pandas as pd
import torch
from torch.utils.data import Dataset

WEATHER = ["temp", "rain", "wind", "sun"]


def season(hives=8, days=150, seed=0):
    rng = np.random.default_rng(seed)
    hours = days * 24
    t = np.arange(hours)
    day = t % 24
    front = np.cumsum(rng.normal(0, 0.15, hours))
    front -= np.convolve(front, np.ones(240) / 240, "same")
    sun = np.clip(np.sin((day - 6) / 12 * np.pi), 0, None) * np.clip(0.7 + 0.3 * front, 0, 1)
    temp = 14 + 6 * np.sin((day - 9) / 24 * 2 * np.pi) + 3 * front + rng.normal(0, 0.4, hours)
    rain = np.clip(-front - 0.6, 0, None) * rng.gamma(0.6, 1.0, hours)
    wind = np.abs(rng.normal(2, 1, hours) - front)
    frames = []
    for h in range(hives):
        strength = rng.uniform(0.5, 1.6)
        forage = sun * (temp > 12) * (rain < 0.1) * np.exp(-(wind / 6) ** 2)
        bloom = np.exp(-(((t / 24 - rng.uniform(40, 110)) / 18) ** 2))
        out = 0.5 * strength * np.clip(np.sin((day - 8) / 10 * np.pi), 0, None) * (forage > 0.1)
        nectar = np.cumsum(0.12 * strength * forage * (0.2 + bloom) - 0.012 * strength)
        weight = 32 + nectar - out - 0.08 * rain + rng.normal(0, 0.03, hours)
        frames.append(pd.DataFrame({
            "hive": h, "hour": t, "weight": weight, "temp": temp, "rain": rain, "wind": wind, "sun": sun,
            "brood": 34.5 + 0.3 * strength * np.sin(day / 24 * 2 * np.pi) + rng.normal(0, 0.1, hours),
        }))
    return pd.concat(frames, ignore_index=True)


class Windows(Dataset):
    """two days of weight, weather and brood temperature; target: the change of weight over the next 24 hours"""

    def __init__(self, table, past=48, ahead=24, stride=10):
        self.past, self.ahead = past, ahead
        self.inputs = ["change", "brood"] + WEATHER + ["hour_sin", "hour_cos"]
        table = table.copy()
        table["change"] = table.groupby("hive")["weight"].diff().fillna(0.0)
        table["hour_sin"] = np.sin(table["hour"] * 2 * np.pi / 24)
        table["hour_cos"] = np.cos(table["hour"] * 2 * np.pi / 24)
        scaled = ["brood"] + WEATHER
        table[scaled] = (table[scaled] - table[scaled].mean()) / table[scaled].std()
        self.table = table
        self.starts = []
        for _, rows in table.groupby("hive"):
            first = rows.index[0]
            self.starts += list(range(first, first + len(rows) - past - ahead, stride))

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, i):
        a = self.starts[i]
        b = a + self.past
        past = self.table.iloc[a:b][self.inputs]
        coming = self.table.iloc[b : b + self.ahead][WEATHER + ["hour_sin", "hour_cos"]]
        now = self.table.iloc[b - 1]["weight"]
        weight = self.table.iloc[b : b + self.ahead]["weight"] - now
        return (
            torch.tensor(past.values, dtype=torch.float32),
            torch.tensor(coming.values, dtype=torch.float32),
            torch.tensor(weight.values, dtype=torch.float32),
        )
