import json
import random
from pathlib import Path

import torch
from torch.utils.data import Dataset


def read_patients(root):
    root = Path(root)
    meta = json.loads((root / "meta.json").read_text())
    with open(root / "patients.jsonl") as file:
        patients = [json.loads(line) for line in file]
    return patients, meta["n_codes"], meta["n_groups"]


def split(patients, val_fraction, seed):
    patients = patients[:]
    random.Random(seed).shuffle(patients)
    n = int(len(patients) * val_fraction)
    return patients[n:], patients[:n]


class VisitDataset(Dataset):
    def __init__(self, patients, n_groups, max_visits):
        self.sequences = [p["visits"][-max_visits:] for p in patients]
        self.labels = torch.zeros(len(patients), n_groups)
        for i, p in enumerate(patients):
            self.labels[i, p["target"]] = 1

    def __len__(self):
        return len(self.sequences)

    def __getitem__(self, i):
        return self.sequences[i], self.labels[i]


class VisitCollate:
    """Pads a batch of patients; visits run backwards in time."""

    def __init__(self, n_codes):
        self.n_codes = n_codes

    def __call__(self, batch):
        lengths = torch.tensor([len(visits) for visits, _ in batch])
        x = torch.zeros(len(batch), int(lengths.max()), self.n_codes)
        for i, (visits, _) in enumerate(batch):
            for j, codes in enumerate(reversed(visits)):
                x[i, j, codes] = 1.0
        return x, lengths, torch.stack([label for _, label in batch])
