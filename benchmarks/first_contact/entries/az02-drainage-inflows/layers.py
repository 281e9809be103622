import torch
from torch import nn
import torch.nn.functional as F


class GraphConv(nn.Module):
    """Graph convolution of Kipf and Welling on a dense adjacency matrix."""

    def __init__(self, in_features, out_features, bias=True):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(in_features, out_features))
        self.bias = nn.Parameter(torch.zeros(out_features)) if bias else None
        nn.init.xavier_uniform_(self.weight)

    def normalise(self, adj):
        adj = adj + torch.eye(adj.size(0))
        degree = adj.sum(1)
        d_inv_sqrt = degree.pow(-0.5)
        d_inv_sqrt[torch.isinf(d_inv_sqrt)] = 0.0
        d_mat = torch.diag(d_inv_sqrt)
        return torch.matmul(torch.matmul(d_mat, adj), d_mat)

    def forward(self, x, adj):
        a_hat = self.normalise(adj)
        h = torch.matmul(a_hat, torch.matmul(x, self.weight))
        return h if self.bias is None else h + self.bias


class SewerNet(nn.Module):
    def __init__(self, adj, history, width=32, layers=3, ahead=4):
        super().__init__()
        self.register_buffer("adj", adj)
        self.temporal = nn.Sequential(
            nn.Linear(2 * history, 2 * width), nn.ReLU(),
            nn.Linear(2 * width, width), nn.ReLU(),
        )
        self.convs = nn.ModuleList(GraphConv(width, width) for _ in range(layers))
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(layers))
        self.level_head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, ahead))
        self.surcharge_head = nn.Sequential(nn.Linear(width, width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, level, rain):
        rain = rain.expand_as(level)
        h = self.temporal(torch.cat([level, rain], dim=1).transpose(1, 2))
        for conv, norm in zip(self.convs, self.norms):
            h = h + F.relu(norm(conv(h, self.adj)))
        return self.level_head(h), self.surcharge_head(h).squeeze(-1)
