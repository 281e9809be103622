import zlib
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch.utils.data import Dataset

FAULTS = ["none", "belt_slip", "sill_dirt", "roller_wear", "lock_contact", "light_curtain", "encoder_drift"]
PANELS = ["2T", "2Z", "3T", "4Z"]
CONTROLLERS = ["AMD", "DCU3", "DCU5", "VF6", "VF7"]
NUMERIC = ["width_mm", "commissioned", "shaft_temp", "starts_24h", "car_load_kg"]
COUNTS_PER_UNIT = 4000.0


def unit_bucket(unit, buckets):
    """New units are commissioned every week; hash the id so that no vocabulary has to be kept."""
    return zlib.crc32(unit.encode()) % buckets


def load_table(root):
    return pd.read_csv(Path(root) / "cycles.csv")


def split_table(table, val_share, seed):
    order = np.random.default_rng(seed).permutation(len(table))
    cut = int(len(table) * val_share)
    return table.iloc[order[cut:]].reset_index(drop=True), table.iloc[order[:cut]].reset_index(drop=True)


class Scaler:
    def __init__(self, table):
        values = table[NUMERIC].to_numpy(np.float32)
        self.mean, self.std = values.mean(0), values.std(0) + 1e-6

    def __call__(self, table):
        return (table[NUMERIC].to_numpy(np.float32) - self.mean) / self.std


class DoorCycles(Dataset):
    """One door cycle: the drive's six channels, the unit's master data, fault code and wear."""

    def __init__(self, root, table, scaler, buckets, augment=False, seed=0):
        self.path = Path(root) / "cycles.npz"
        self.records = None
        self.keys = table["cycle"].tolist()
        self.unit = torch.tensor([unit_bucket(u, buckets) for u in table["unit"]])
        self.panel = torch.tensor([PANELS.index(p) for p in table["panel"]])
        self.controller = torch.tensor([CONTROLLERS.index(c) for c in table["controller"]])
        self.numeric = torch.from_numpy(scaler(table))
        self.fault = torch.tensor([FAULTS.index(f) for f in table["fault"]])
        self.wear = torch.from_numpy(table["wear"].to_numpy(np.float32))
        self.augment = augment
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.keys)

    def signal(self, index):
        if self.records is None:
            self.records = np.load(self.path)
        return self.records[self.keys[index]]

    def __getitem__(self, index):
        x = self.signal(index).astype(np.float32) / COUNTS_PER_UNIT
        if self.augment:
            x[:4] *= self.rng.uniform(0.95, 1.05, (4, 1)).astype(np.float32)
            x = np.roll(x, int(self.rng.integers(-6, 7)), axis=1)
        return torch.from_numpy(x), index


class Collate:
    """Pads to the longest cycle of the batch, rounded up to the stem's stride."""

    def __init__(self, dataset, stride):
        self.dataset = dataset
        self.stride = stride

    def __call__(self, items):
        lengths = torch.tensor([x.shape[1] for x, _ in items])
        longest = -(-int(lengths.max()) // self.stride) * self.stride
        signal = torch.zeros(len(items), items[0][0].shape[0], longest)
        for row, (x, _) in enumerate(items):
            signal[row, :, :x.shape[1]] = x
        index = torch.tensor([i for _, i in items])
        ds = self.dataset
        return {
            "signal": signal,
            "tokens": -(-lengths // self.stride),
            "unit": ds.unit[index],
            "panel": ds.panel[index],
            "controller": ds.controller[index],
            "numeric": ds.numeric[index],
            "fault": ds.fault[index],
            "wear": ds.wear[index],
        }
