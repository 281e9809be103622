import torch
import torch.nn as nn


class GINLayer(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.eps = nn.Parameter(torch.zeros(()))
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(), nn.Linear(dim, dim))
        self.norm = nn.BatchNorm1d(dim)

    def forward(self, x, edge_index):
        src, dst = edge_index
        agg = torch.zeros_like(x).index_add(0, dst, x[src])
        return torch.relu(self.norm(self.mlp((1 + self.eps) * x + agg))) + x


def readout(x, batch, num_graphs):
    out = []
    for g in range(num_graphs):
        nodes = x[batch == g]
        out.append(torch.cat([nodes.mean(dim=0), nodes.max(dim=0).values]))
    return torch.stack(out)


class GIN(nn.Module):
    def __init__(self, atoms=9, dim=48, layers=3, classes=3):
        super().__init__()
        self.embed = nn.Embedding(atoms, dim)
        self.layers = nn.ModuleList(GINLayer(dim) for _ in range(layers))
        self.head = nn.Sequential(nn.Linear(2 * dim, dim), nn.ReLU(), nn.Dropout(0.1), nn.Linear(dim, classes))

    def forward(self, data):
        x = self.embed(data["atom"])
        for layer in self.layers:
            x = layer(x, data["edge_index"])
        return self.head(readout(x, data["batch"], data["num_graphs"]))
