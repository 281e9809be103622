import numpy as np
import torch
from torch.utils.data import DataLoader, Dataset


class Tours(Dataset):
    def __init__(self, raw, rows):
        self.slots = torch.from_numpy(raw["slots"][rows]).long()
        self.pieces = torch.from_numpy(raw["pieces"][rows]).float()
        self.zone = torch.from_numpy(raw["zone"][rows]).long()
        self.seconds = torch.from_numpy(raw["seconds"][rows])

    def __len__(self):
        return len(self.slots)

    def __getitem__(self, i):
        return {"slots": self.slots[i], "pieces": self.pieces[i],
                "zone": self.zone[i], "seconds": self.seconds[i]}


def loaders(cfg):
    with np.load(cfg.data) as raw:
        raw = {k: raw[k] for k in raw.files}
    rows = np.random.default_rng(cfg.seed).permutation(len(raw["slots"]))
    train, valid = Tours(raw, rows[cfg.held_out:]), Tours(raw, rows[: cfg.held_out])
    return (DataLoader(train, cfg.batch, shuffle=True, drop_last=True),
            DataLoader(valid, 32))
