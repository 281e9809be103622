import numpy as np
import torch
from torch.utils.data import Dataset

from molecules import random_molecule, target

MAX_HOPS = 8


def hop_distances(num_atoms, bonds):
    """Number of bonds on the shortest path between every pair of atoms, capped at MAX_HOPS."""
    dist = np.full((num_atoms, num_atoms), MAX_HOPS, dtype=np.int64)
    np.fill_diagonal(dist, 0)
    dist[bonds[:, 0], bonds[:, 1]] = 1
    dist[bonds[:, 1], bonds[:, 0]] = 1
    for k in range(num_atoms):
        dist = np.minimum(dist, dist[:, k : k + 1] + dist[k : k + 1, :])
    return dist


class MoleculeSet(Dataset):
    def __init__(self, size, seed):
        rng = np.random.default_rng(seed)
        self.mols = [random_molecule(rng) for _ in range(size)]
        y = np.array([target(m) for m in self.mols], dtype=np.float32)
        self.y = (y - y.mean()) / y.std()

    def __len__(self):
        return len(self.mols)

    def __getitem__(self, i):
        mol = self.mols[i]
        n = len(mol["atoms"])
        bonds = mol["bonds"]
        degree = np.bincount(bonds[:, :2].ravel(), minlength=n)
        node = np.stack([mol["atoms"], mol["hydrogens"], np.minimum(degree, 4)], 1)
        hops = hop_distances(n, bonds)
        src, dst = np.nonzero((hops > 0) & (hops <= 4))
        order = np.zeros((n, n), dtype=np.int64)
        order[bonds[:, 0], bonds[:, 1]] = bonds[:, 2]
        order[bonds[:, 1], bonds[:, 0]] = bonds[:, 2]
        edge_type = np.stack([hops[src, dst], order[src, dst]], 1)
        return (
            torch.from_numpy(node),
            torch.from_numpy(np.stack([src, dst])),
            torch.from_numpy(edge_type),
            self.y[i],
        )


def collate(items):
    sizes = torch.tensor([it[0].shape[0] for it in items])
    offsets = torch.cumsum(sizes, 0) - sizes
    node = torch.cat([it[0] for it in items])
    edge_index = torch.cat([it[1] + off for it, off in zip(items, offsets.tolist())], 1)
    edge_type = torch.cat([it[2] for it in items])
    graph = torch.repeat_interleave(torch.arange(len(items)), sizes)
    y = torch.from_numpy(np.array([it[3] for it in items]))
    return node, edge_index, edge_type, graph, sizes, y
