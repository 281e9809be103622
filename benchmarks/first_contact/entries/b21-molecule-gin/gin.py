import argparse
import time
from dataclasses import dataclass

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Graph:
    x: torch.Tensor
    edge_index: torch.Tensor
    y: float


@dataclass
class Batch:
    x: torch.Tensor
    edge_index: torch.Tensor
    batch: torch.Tensor
    y: torch.Tensor
    num_graphs: int


def random_molecule(rng):
    n = int(rng.integers(8, 24))
    atoms = rng.integers(0, 9, n)
    src, dst = [], []
    for i in range(1, n):
        j = int(rng.integers(max(0, i - 4), i))
        src += [i, j]
        dst += [j, i]
    for _ in range(int(rng.integers(0, 3))):
        i, j = rng.choice(n, 2, replace=False)
        src += [int(i), int(j)]
        dst += [int(j), int(i)]
    y = np.bincount(atoms, minlength=9) @ np.linspace(-1, 1, 9) / n + 0.1 * len(src) / n
    return Graph(F.one_hot(torch.from_numpy(atoms), 9).float(), torch.tensor([src, dst]), float(y))


def collate(graphs):
    xs, es, bs, off = [], [], [], 0
    for k, g in enumerate(graphs):
        xs.append(g.x)
        es.append(g.edge_index + off)
        bs.append(torch.full((len(g.x),), k))
        off += len(g.x)
    y = torch.tensor([g.y for g in graphs])
    return Batch(torch.cat(xs), torch.cat(es, 1), torch.cat(bs), y, len(graphs))


class GINLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(1))
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.BatchNorm1d(2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))

    def forward(self, x, edge_index):
        src, dst = edge_index
        agg = torch.zeros_like(x).index_add_(0, dst, x[src])
        return self.mlp((1 + self.eps) * x + agg)


def global_mean_pool(x, batch, num_graphs):
    pooled = []
    for k in range(num_graphs):
        pooled.append(x[batch == k].mean(dim=0))
    return torch.stack(pooled)


class GIN(nn.Module):
    def __init__(self, dim=64, layers=4):
        super().__init__()
        self.embed = nn.Linear(9, dim)
        self.layers = nn.ModuleList(GINLayer(dim) for _ in range(layers))
        self.head = nn.Sequential(nn.Linear(dim * (layers + 1), dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, b):
        h = self.embed(b.x)
        outs = [global_mean_pool(h, b.batch, b.num_graphs)]
        for layer in self.layers:
            h = F.relu(layer(h, b.edge_index))
            outs.append(global_mean_pool(h, b.batch, b.num_graphs))
        return self.head(torch.cat(outs, 1)).squeeze(1)


def run_epoch(model, batches, opt=None):
    model.train(opt is not None)
    tot, n = 0.0, 0
    with torch.set_grad_enabled(opt is not None):
        for b in batches:
            loss = F.l1_loss(model(b), b.y)
            if opt is not None:
                opt.zero_grad()
                loss.backward()
                opt.step()
            tot += loss.item() * b.num_graphs
            n += b.num_graphs
    return tot / n


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--graphs", type=int, default=2560)
    ap.add_argument("--epochs", type=int, default=14)
    ap.add_argument("--batch-size", type=int, default=64)
    args = ap.parse_args()
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    graphs = [random_molecule(rng) for _ in range(args.graphs)]
    cut = int(0.9 * len(graphs))
    bs = args.batch_size
    val = [collate(graphs[i : i + bs]) for i in range(cut, len(graphs), bs)]
    model = GIN()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    for epoch in range(args.epochs):
        t0 = time.time()
        order = rng.permutation(cut)
        train = (collate([graphs[j] for j in order[i : i + bs]]) for i in range(0, cut, bs))
        tr = run_epoch(model, train, opt)
        va = run_epoch(model, val)
        print(f"epoch {epoch:02d} train mae {tr:.4f} val mae {va:.4f} [{time.time() - t0:.1f}s]")
