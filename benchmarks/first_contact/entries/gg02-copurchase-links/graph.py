import random

import numpy as np
import torch


def make_graph(num_nodes, num_edges, features, groups, seed):
    """A co-purchase graph: products of a few hundred categories, popular ones with many links."""
    rng = np.random.default_rng(seed)
    group = rng.integers(groups, size=num_nodes)
    members = [np.flatnonzero(group == g) for g in range(groups)]
    popularity = rng.pareto(2.0, num_nodes) + 1
    p = popularity / popularity.sum()
    left = rng.choice(num_nodes, size=2 * num_edges, p=p)
    right = rng.choice(num_nodes, size=2 * num_edges, p=p)
    inside = rng.random(2 * num_edges) < 0.8
    for i in np.flatnonzero(inside):
        right[i] = rng.choice(members[group[left[i]]])
    pairs = np.stack([np.minimum(left, right), np.maximum(left, right)], 1)
    pairs = np.unique(pairs[pairs[:, 0] != pairs[:, 1]], axis=0)
    pairs = pairs[rng.permutation(len(pairs))[:num_edges]]
    centre = rng.normal(size=(groups, features))
    x = centre[group] + 1.5 * rng.normal(size=(num_nodes, features))
    return torch.tensor(x, dtype=torch.float32), torch.tensor(pairs)


def split_edges(pairs, val_fraction=0.05, test_fraction=0.1):
    n = len(pairs)
    n_val, n_test = int(n * val_fraction), int(n * test_fraction)
    return pairs[n_val + n_test:], pairs[:n_val], pairs[n_val:n_val + n_test]


def to_undirected(pairs):
    return torch.cat([pairs, pairs.flip(1)]).t().contiguous()


class NegativeSampler:
    """Draws pairs of products that are not linked."""

    def __init__(self, num_nodes, pairs):
        self.num_nodes = num_nodes
        self.known = {(u, v) for u, v in pairs.tolist()}

    def sample(self, n):
        negatives = []
        while len(negatives) < n:
            u = random.randrange(self.num_nodes)
            v = random.randrange(self.num_nodes)
            if u == v or (min(u, v), max(u, v)) in self.known:
                continue
            negatives.append((u, v))
        return torch.tensor(negatives)
