"""Counts of genes in single cells, kept as a sparse matrix, and the data set over them."""
import numpy as np
import scipy.sparse as sp
import torch
from torch.utils.data import Dataset


def simulate(cells, genes, types=8, batches=3, seed=0):
    """A few cell types over a common background, sequenced in a few runs of different depth."""
    rng = np.random.default_rng(seed)
    background = rng.gamma(0.25, 1.0, genes)
    markers = np.where(rng.random((types, genes)) < 0.04, rng.gamma(2.0, 4.0, (types, genes)), 0.0)
    kind = rng.integers(types, size=cells)
    batch = rng.integers(batches, size=cells)
    shift = rng.lognormal(0.0, 0.3, (batches, genes))
    depth = rng.lognormal(6.3, 0.35, cells)
    blocks = []
    for rows in np.array_split(np.arange(cells), max(1, cells // 1000)):
        rate = (background + markers[kind[rows]]) * shift[batch[rows]]
        rate *= (depth[rows] / rate.sum(1))[:, None]
        noise = rng.gamma(2.0, 0.5, rate.shape)
        blocks.append(sp.csr_matrix(rng.poisson(rate * noise).astype(np.float32)))
    return sp.vstack(blocks, format="csr"), batch, kind


class CellDataset(Dataset):
    """One item is one cell: its counts and the run it came from."""

    def __init__(self, counts, batch):
        self.counts = counts.tocsr()
        self.batch = torch.as_tensor(batch, dtype=torch.long)

    def __len__(self):
        return self.counts.shape[0]

    def __getitem__(self, index):
        row = self.counts[index].toarray().squeeze(0)
        return torch.from_numpy(row), self.batch[index]


def split(counts, batch, kind, held_out=0.1, seed=0):
    order = np.random.default_rng(seed).permutation(counts.shape[0])
    cut = int(len(order) * held_out)
    test, train = np.sort(order[:cut]), np.sort(order[cut:])
    return CellDataset(counts[train], batch[train]), CellDataset(counts[test], batch[test]), kind[test]
