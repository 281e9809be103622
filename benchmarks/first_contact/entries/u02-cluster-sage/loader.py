"""Mini-batches of several clusters together with the edges among them (Cluster-GCN)."""
from dataclasses import dataclass

import torch

from graph import partition


@dataclass
class Batch:
    x: torch.Tensor
    y: torch.Tensor
    train_mask: torch.Tensor
    edge_index: torch.Tensor


def subgraph(nodes, edge_index, num_nodes):
    """Edges with both ends among `nodes`, renumbered to positions in `nodes`."""
    member = torch.zeros(num_nodes, dtype=torch.bool)
    member[nodes] = True
    mask = member[edge_index[0]] & member[edge_index[1]]
    edge_index = edge_index[:, mask]
    position = torch.zeros(num_nodes, dtype=torch.long)
    position[nodes] = torch.arange(len(nodes))
    return position[edge_index]


class ClusterLoader:
    def __init__(self, graph, parts, per_batch, seed=0):
        self.graph = graph
        self.per_batch = per_batch
        self.parts = parts
        self.generator = torch.Generator().manual_seed(seed)
        self.cluster = partition(graph, parts, self.generator)

    def __len__(self):
        return self.parts // self.per_batch

    def __iter__(self):
        order = torch.randperm(self.parts, generator=self.generator)
        for chosen in order.split(self.per_batch):
            nodes = torch.isin(self.cluster, chosen).nonzero().squeeze(1)
            yield self.collect(nodes)

    def collect(self, nodes):
        graph = self.graph
        return Batch(
            x=graph.x[nodes],
            y=graph.y[nodes],
            train_mask=graph.train_mask[nodes],
            edge_index=subgraph(nodes, graph.edge_index, graph.num_nodes),
        )
