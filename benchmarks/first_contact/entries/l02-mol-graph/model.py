import torch
import torch.nn as nn


class HopConv(nn.Module):
    """GINE-style convolution over pairs of atoms up to four bonds apart."""

    def __init__(self, dim):
        super().__init__()
        self.hop = nn.Embedding(9, dim)
        self.order = nn.Embedding(4, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))
        self.norm = nn.LayerNorm(dim)
        self.eps = nn.Parameter(torch.zeros(()))

    def forward(self, h, edge_index, pair_code):
        src, dst = edge_index
        table = (self.hop.weight[:, None, :] + self.order.weight[None, :, :]).flatten(0, 1)
        msg = torch.relu(h.index_select(0, src) + table.index_select(0, pair_code))
        agg = torch.zeros_like(h).index_add_(0, dst, msg)
        return self.norm(h + self.mlp((1 + self.eps) * h + agg))


class MolNet(nn.Module):
    def __init__(self, dim=64, layers=4):
        super().__init__()
        self.atom = nn.Embedding(6, dim)
        self.hydrogen = nn.Embedding(5, dim)
        self.degree = nn.Embedding(5, dim)
        self.convs = nn.ModuleList(HopConv(dim) for _ in range(layers))
        self.head = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU(), nn.Linear(dim, 1))

    def forward(self, node, edge_index, edge_type, graph, sizes):
        h = self.atom(node[:, 0]) + self.hydrogen(node[:, 1]) + self.degree(node[:, 2])
        code = edge_type[:, 0] * 4 + edge_type[:, 1]
        for conv in self.convs:
            h = conv(h, edge_index, code)
        total = h.new_zeros(len(sizes), h.shape[1]).index_add_(0, graph, h)
        pooled = torch.cat([total, total / sizes[:, None]], 1)
        return self.head(pooled).squeeze(1)
