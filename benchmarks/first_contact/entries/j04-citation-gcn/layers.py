import torch
from torch import nn

torch.sparse.check_sparse_tensor_invariants.disable()


def normalised_adjacency(edges, n_nodes):
    """D^-1/2 A D^-1/2 as a sparse matrix; repeated edges count once."""
    ones = torch.ones(edges.shape[1])
    adjacency = torch.sparse_coo_tensor(edges, ones, (n_nodes, n_nodes)).coalesce()
    target, source = adjacency.indices()
    degree = torch.bincount(target, minlength=n_nodes).clamp(min=1).float()
    weight = degree[source].rsqrt() * degree[target].rsqrt()
    return torch.sparse_coo_tensor(adjacency.indices(), weight, (n_nodes, n_nodes), is_coalesced=True)


class GraphConv(nn.Module):
    """Symmetrically normalised graph convolution with a separate weight for the node itself."""

    def __init__(self, n_in, n_out):
        super().__init__()
        self.neighbours = nn.Linear(n_in, n_out, bias=False)
        self.own = nn.Linear(n_in, n_out)

    def forward(self, x, edges):
        adjacency = normalised_adjacency(edges, len(x))
        gathered = torch.sparse.mm(adjacency, x)
        return self.own(x) + self.neighbours(gathered)


class Net(nn.Module):
    def __init__(self, n_in, n_hidden, n_classes, dropout=0.5):
        super().__init__()
        self.convs = nn.ModuleList([GraphConv(n_in, n_hidden), GraphConv(n_hidden, n_hidden)])
        self.norms = nn.ModuleList([nn.LayerNorm(n_hidden) for _ in self.convs])
        self.dropout = nn.Dropout(dropout)
        self.out = nn.Linear(n_hidden, n_classes)

    def forward(self, graph):
        h = graph.x
        for conv, norm in zip(self.convs, self.norms):
            h = self.dropout(torch.relu(norm(conv(h, graph.edges))))
        return self.out(h)
