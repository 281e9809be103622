"""Surveyed wall sections with hours of the weather they stood through."""

from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset

HERE = Path(__file__).parent


class Archive:
    """Both files in memory, scaled once."""

    def __init__(self, folder=HERE):
        walls = np.load(folder / "walls.npz")
        self.present = walls["present"]
        stones = walls["stones"]
        seen = stones[self.present]
        centre, spread = seen.mean(0), seen.std(0)
        self.stones = ((stones - centre) / spread * self.present[..., None]).astype(np.float32)
        self.contact = walls["contact"].astype(np.float32)
        self.shift = walls["shift"]
        self.bulge = walls["bulge"]
        self.site = walls["site"]
        self.built = walls["built"]
        self.surveyed = walls["surveyed"]
        records = np.load(folder / "weather.npz")["records"].astype(np.float32)
        flat = records.reshape(-1, records.shape[-1])
        self.weather = (records - flat.mean(0)) / flat.std(0)

    def __len__(self):
        return len(self.bulge)


class Sections(Dataset):
    """One wall section per item.

    For training, `hours` different hours are drawn at random from the time between building and survey;
    for validation they are evenly spaced.
    """

    def __init__(self, archive, index, hours=64, training=True):
        self.archive = archive
        self.index = index
        self.hours = hours
        self.training = training

    def __len__(self):
        return len(self.index)

    def pick_hours(self, wall):
        built, surveyed = self.archive.built[wall], self.archive.surveyed[wall]
        if self.training:
            return built + np.random.choice(surveyed - built, size=self.hours, replace=False)
        return np.linspace(built, surveyed - 1, self.hours).astype(np.int64)

    def __getitem__(self, item):
        archive = self.archive
        wall = self.index[item]
        hours = self.pick_hours(wall)
        return {
            "stones": torch.from_numpy(archive.stones[wall]),
            "contact": torch.from_numpy(archive.contact[wall]),
            "present": torch.from_numpy(archive.present[wall]),
            "weather": torch.from_numpy(archive.weather[archive.site[wall], hours]),
            "shift": torch.from_numpy(archive.shift[wall]),
            "bulge": torch.tensor(archive.bulge[wall]),
        }


def split(count, held_out, seed):
    order = np.random.default_rng(seed).permutation(count)
    return order[held_out:], order[:held_out]
