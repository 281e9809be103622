import bisect
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import Dataset


class DiveArchives(Dataset):
    """All pings of a list of dives; a sample is one ping and what the floor was like below it."""

    def __init__(self, paths, flip=False):
        self.archives = [np.load(path) for path in paths]
        self.ends = np.cumsum([len(a["target"]) for a in self.archives]).tolist()
        self.flip = flip

    def __len__(self):
        return self.ends[-1]

    def __getitem__(self, index):
        dive = bisect.bisect_right(self.ends, index)
        row = index - (self.ends[dive - 1] if dive else 0)
        archive = self.archives[dive]
        echo = torch.from_numpy(archive["echo"][row])
        target = torch.from_numpy(archive["target"][row])
        if self.flip and index % 2:
            echo = echo.flip(0)
            target = target * torch.tensor([1.0, -1.0, 1.0])
        return echo.unsqueeze(0), target


def split_dives(folder, held_out=3):
    paths = sorted(Path(folder).glob("dive_*.npz"))
    if len(paths) <= held_out:
        raise SystemExit(f"no dives in {folder}: run prepare.py first")
    return paths[:-held_out], paths[-held_out:]
