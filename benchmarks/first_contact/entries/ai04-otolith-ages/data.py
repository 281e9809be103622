import csv
import math
import os

import numpy as np
import torch
from PIL import Image
from torch.utils.data import Dataset

HERE = os.path.dirname(os.path.abspath(__file__))


def read_catch():
    with open(os.path.join(HERE, "catch.csv")) as f:
        rows = list(csv.DictReader(f))
    lengths = np.array([float(r["length_cm"]) for r in rows])
    masses = np.log(np.array([float(r["mass_g"]) for r in rows]))
    for row, length, mass in zip(rows, lengths, masses):
        season = 2 * math.pi * int(row["month"]) / 12
        row["covariates"] = [
            (length - lengths.mean()) / lengths.std(),
            (mass - masses.mean()) / masses.std(),
            float(row["female"]) - 0.5,
            math.sin(season),
            math.cos(season),
        ]
        row["readings"] = [int(row["reader_" + who]) for who in "abc"]
    return rows


class OtolithSections(Dataset):
    """Transverse sections under reflected light, with what was noted of the fish."""

    def __init__(self, rows, side=80, augment=False):
        self.rows = rows
        self.side = side
        self.augment = augment

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        row = self.rows[index]
        image = Image.open(os.path.join(HERE, "sections", row["file"])).convert("L")
        image = image.resize((self.side, self.side), Image.LANCZOS)
        x = torch.from_numpy(np.asarray(image, dtype=np.float32) / 255.0)[None]
        if self.augment:
            if torch.rand(1).item() < 0.5:
                x = x.flip(-1)
            if torch.rand(1).item() < 0.5:
                x = x.flip(-2)
            x = x * (1 + 0.2 * (torch.rand(1).item() - 0.5))
        covariates = torch.tensor(row["covariates"], dtype=torch.float32)
        return x, covariates, torch.tensor(row["readings"])


def split(rows, held_out=40, seed=4):
    order = np.random.default_rng(seed).permutation(len(rows))
    return [rows[i] for i in order[held_out:]], [rows[i] for i in order[:held_out]]
