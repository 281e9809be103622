import torch
import torch.nn.functional as F
from torch import nn


def gcn_norm(edge_index, num_nodes):
    loops = torch.arange(num_nodes)
    src = torch.cat([edge_index[0], loops])
    dst = torch.cat([edge_index[1], loops])
    degree = torch.zeros(num_nodes).index_add_(0, dst, torch.ones(len(dst)))
    inv = degree.pow(-0.5)
    return src, dst, inv[src] * inv[dst]


class GCNConv(nn.Module):
    def __init__(self, in_channels, out_channels):
        super().__init__()
        self.lin = nn.Linear(in_channels, out_channels, bias=False)
        self.bias = nn.Parameter(torch.zeros(out_channels))

    def forward(self, x, edge_index):
        src, dst, norm = gcn_norm(edge_index, x.size(0))
        x = self.lin(x)
        messages = x[src] * norm.unsqueeze(1)
        out = torch.zeros_like(x).index_add_(0, dst, messages)
        return out + self.bias


class Encoder(nn.Module):
    def __init__(self, in_channels, hidden, layers, dropout):
        super().__init__()
        sizes = [in_channels] + [hidden] * layers
        self.convs = nn.ModuleList(GCNConv(a, b) for a, b in zip(sizes, sizes[1:]))
        self.norms = nn.ModuleList(nn.LayerNorm(hidden) for _ in range(layers - 1))
        self.dropout = dropout

    def forward(self, x, edge_index):
        for i, conv in enumerate(self.convs):
            x = conv(x, edge_index)
            if i < len(self.convs) - 1:
                x = F.relu(self.norms[i](x))
                x = F.dropout(x, self.dropout, self.training)
        return x


class LinkPredictor(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.mlp = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, 1))

    def forward(self, h, pairs):
        left = h.index_select(0, pairs[:, 0])
        right = h.index_select(0, pairs[:, 1])
        return self.mlp(left * right).squeeze(-1)
