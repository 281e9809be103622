import random

import torch


def random_molecule(rng):
    """A random tree with a few extra bonds; the label is the number of rings (0, 1, 2)."""
    n = rng.randint(8, 22)
    edges = [(i, rng.randrange(max(0, i - 4), i)) for i in range(1, n)]
    rings = rng.randint(0, 2)
    for _ in range(rings):
        a, b = rng.sample(range(n), 2)
        edges.append((a, b))
    src = [a for a, b in edges] + [b for a, b in edges]
    dst = [b for a, b in edges] + [a for a, b in edges]
    atom = torch.tensor([rng.randrange(9) for _ in range(n)])
    return {"atom": atom, "edge_index": torch.tensor([src, dst]), "y": rings}


def make_set(n, seed):
    rng = random.Random(seed)
    return [random_molecule(rng) for _ in range(n)]


def collate(graphs):
    sizes = torch.tensor([len(g["atom"]) for g in graphs])
    offset = torch.cat([torch.zeros(1, dtype=torch.long), sizes.cumsum(0)[:-1]])
    edges = torch.cat([g["edge_index"] + o for g, o in zip(graphs, offset)], dim=1)
    return {
        "atom": torch.cat([g["atom"] for g in graphs]),
        "edge_index": edges,
        "batch": torch.repeat_interleave(torch.arange(len(graphs)), sizes),
        "num_graphs": len(graphs),
        "y": torch.tensor([g["y"] for g in graphs]),
    }
