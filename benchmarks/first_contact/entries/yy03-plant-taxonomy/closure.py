import random

import pandas as pd
import torch
from torch.utils.data import Dataset


class ClosureDataset(Dataset):
    """Pairs (u, v) with v an ancestor of u, each with sampled non-ancestors."""

    def __init__(self, path, n_negatives):
        df = pd.read_csv(path)
        names = sorted(set(df.taxon) | set(df.ancestor))
        self.names = names
        ids = {n: i for i, n in enumerate(names)}
        self.pairs = [(ids[u], ids[v]) for u, v in zip(df.taxon, df.ancestor)]
        self.n_negatives = n_negatives
        self.ancestors = {}
        for u, v in self.pairs:
            self.ancestors.setdefault(u, []).append(v)

    @property
    def n_taxa(self):
        return len(self.names)

    def __len__(self):
        return len(self.pairs)

    def __getitem__(self, index):
        u, v = self.pairs[index]
        negatives = []
        while len(negatives) < self.n_negatives:
            w = random.randrange(self.n_taxa)
            if w != u and w not in self.ancestors[u] and w not in negatives:
                negatives.append(w)
        return torch.tensor([u, v] + negatives)
