"""Annotated fragment spectra of tryptic peptides, grouped by peptide length."""
import csv

import numpy as np
import torch

ALPHABET = "ACDEFGHIKLMNPQRSTVWYo"
CODE = {a: i for i, a in enumerate(ALPHABET)}
MAX_CHARGE = 4


def read_table(table, spectra):
    """Tensors by length: residues, charge and energy, intensities (-1 where an ion cannot be)."""
    intensities = np.load(spectra)
    by_length = {}
    with open(table, newline="") as f:
        for row in csv.DictReader(f):
            by_length.setdefault(len(row["sequence"]), []).append(
                ([CODE[a] for a in row["sequence"]], int(row["charge"]) - 1, float(row["nce"]) / 100, int(row["row"])))
    groups = {}
    for length, rows in sorted(by_length.items()):
        residues, charge, energy, index = zip(*rows)
        groups[length] = (torch.tensor(residues), torch.tensor(charge), torch.tensor(energy),
                          torch.from_numpy(intensities[list(index), :length - 1]))
    return groups


class LengthBatches:
    """Shuffled batches in which all peptides have the same length."""

    def __init__(self, groups, batch_size, shuffle=True):
        self.groups, self.batch_size, self.shuffle = groups, batch_size, shuffle

    def __len__(self):
        return sum(-(-len(g[0]) // self.batch_size) for g in self.groups.values())

    def __iter__(self):
        plan = []
        for length, group in self.groups.items():
            order = torch.randperm(len(group[0])) if self.shuffle else torch.arange(len(group[0]))
            plan += [(length, rows) for rows in order.split(self.batch_size)]
        if self.shuffle:
            plan = [plan[i] for i in torch.randperm(len(plan)).tolist()]
        for length, rows in plan:
            yield tuple(t[rows] for t in self.groups[length])
