from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset


class Reanalysis:
    """All states in memory, standardised with the statistics of the training years."""

    def __init__(self, root, train_fraction=0.85):
        root = Path(root)
        states = np.load(root / "states.npy")
        with np.load(root / "grid.npz") as grid:
            self.lat, self.names = grid["lat"], [str(n) for n in grid["names"]]
            orography = torch.from_numpy(grid["orography"])
        self.border = int(len(states) * train_fraction)
        past = states[: self.border].astype(np.float64)
        self.mean = torch.from_numpy(past.mean((0, 2, 3))).float()
        self.std = torch.from_numpy(past.std((0, 2, 3))).float()
        self.states = torch.from_numpy(states).sub_(self.mean[:, None, None]).div_(self.std[:, None, None])
        self.climatology = self.states[: self.border].mean(0)
        weight = torch.from_numpy(np.cos(np.deg2rad(self.lat))).float()
        self.lat_weight = (weight / weight.mean())[:, None]
        lat = torch.from_numpy(np.deg2rad(self.lat)).float()[:, None].expand_as(orography)
        self.constants = torch.stack([orography, lat.sin(), lat.cos()])


class Transitions(Dataset):
    """State at t and the `lead` states that follow."""

    def __init__(self, states, lead):
        self.states, self.lead = states, lead

    def __len__(self):
        return len(self.states) - self.lead

    def __getitem__(self, t):
        return self.states[t], self.states[t + 1:t + 1 + self.lead]
