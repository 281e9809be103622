import numpy as np
import torch
from torch.utils.data import Dataset, Sampler


class HaulSeason(Dataset):
    """One survey season. Indexed with a list of hauls, gives a whole batch."""

    def __init__(self, path):
        self.archive = np.load(path)
        self.station = torch.from_numpy(self.archive["station"])
        self.offset, self.scale = 20.0, 1 / 40.0

    def __len__(self):
        return len(self.station)

    def __getitem__(self, hauls):
        echo = torch.from_numpy(self.archive["echogram"][hauls])
        catch = torch.from_numpy(self.archive["catch"][hauls])
        echo = (echo.float() - self.offset) * self.scale
        return echo, self.station[hauls], catch


class HaulBatches(Sampler):
    def __init__(self, members, size, seed=None):
        self.members, self.size = np.asarray(members), size
        self.rng = None if seed is None else np.random.default_rng(seed)

    def __len__(self):
        return len(self.members) // self.size

    def __iter__(self):
        order = self.members if self.rng is None else self.rng.permutation(self.members)
        for k in range(len(self)):
            yield order[k * self.size:(k + 1) * self.size]
