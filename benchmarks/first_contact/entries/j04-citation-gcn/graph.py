"""Citation-like graph with communities and bag-of-words features."""
from dataclasses import dataclass

import torch


@dataclass
class Graph:
    x: torch.Tensor
    y: torch.Tensor
    edges: torch.Tensor
    train: torch.Tensor
    val: torch.Tensor

    @property
    def n_nodes(self):
        return len(self.x)


def citation_graph(n_nodes=8000, n_features=256, n_classes=12, degree=5, homophily=0.7, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(n_classes, (n_nodes,), generator=g)
    order = y.argsort()
    start = torch.searchsorted(y[order], torch.arange(n_classes))
    count = torch.bincount(y, minlength=n_classes)
    source = torch.arange(n_nodes).repeat_interleave(degree)
    same = order[start[y[source]] + (torch.rand(len(source), generator=g) * count[y[source]]).long()]
    anyone = torch.randint(n_nodes, (len(source),), generator=g)
    target = torch.where(torch.rand(len(source), generator=g) < homophily, same, anyone)
    edges = torch.stack([torch.cat([target, source]), torch.cat([source, target])])

    topics = torch.rand(n_classes, n_features, generator=g) ** 6
    x = (torch.rand(n_nodes, n_features, generator=g) < 0.02 + 0.25 * topics[y]).float()
    x = x / x.sum(1, keepdim=True).clamp(min=1)
    shuffled = torch.randperm(n_nodes, generator=g)
    train, val = torch.zeros(2, n_nodes, dtype=torch.bool)
    train[shuffled[:n_nodes // 3]] = True
    val[shuffled[n_nodes // 3:n_nodes // 2]] = True
    return Graph(x, y, edges, train, val)
