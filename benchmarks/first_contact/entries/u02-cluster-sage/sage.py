import torch
from torch import nn
import torch.nn.functional as F


def mean_adjacency(edge_index, num_nodes):
    """Row-normalised adjacency as a sparse CSR matrix; edges come sorted by source."""
    source, target = edge_index
    degree = torch.bincount(source, minlength=num_nodes)
    pointer = F.pad(degree.cumsum(0), (1, 0))
    values = (1.0 / degree.clamp(min=1))[source]
    return torch.sparse_csr_tensor(pointer, target, values, (num_nodes, num_nodes))


class SAGELayer(nn.Module):
    def __init__(self, inputs, outputs):
        super().__init__()
        self.own = nn.Linear(inputs, outputs)
        self.around = nn.Linear(inputs, outputs, bias=False)

    def forward(self, h, adjacency):
        return self.own(h) + self.around(adjacency @ h)


class SAGE(nn.Module):
    def __init__(self, features, hidden, classes, layers=3, dropout=0.2):
        super().__init__()
        sizes = [features] + [hidden] * (layers - 1)
        self.layers = nn.ModuleList(SAGELayer(a, hidden) for a in sizes)
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in sizes)
        self.out = nn.Linear(hidden, classes)
        self.dropout = dropout

    def forward(self, x, edge_index):
        adjacency = mean_adjacency(edge_index, len(x))
        for layer, norm in zip(self.layers, self.norms):
            x = F.relu(norm(layer(x, adjacency)))
            x = F.dropout(x, self.dropout, self.training)
        return self.out(x)
