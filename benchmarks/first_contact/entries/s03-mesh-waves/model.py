import torch
from torch import nn


def mlp(inputs, hidden, outputs, norm=True):
    layers = [nn.Linear(inputs, hidden), nn.SiLU(), nn.Linear(hidden, outputs)]
    return nn.Sequential(*layers, nn.LayerNorm(outputs)) if norm else nn.Sequential(*layers)


class Processor(nn.Module):
    """One round of messages: edges look at both their ends, nodes at the sum of what arrives."""

    def __init__(self, hidden):
        super().__init__()
        # first layer of the edge network, split by input, so that nodes are projected once and not once an edge
        self.from_edge = nn.Linear(hidden, hidden)
        self.from_ends = nn.Linear(hidden, 2 * hidden, bias=False)
        self.edge_out = nn.Sequential(nn.SiLU(inplace=True), nn.Linear(hidden, hidden), nn.LayerNorm(hidden))
        self.node_net = mlp(2 * hidden, hidden, hidden)

    def forward(self, h, e, senders, receivers):
        sent, received = self.from_ends(h).chunk(2, dim=1)
        e = e + self.edge_out(self.from_edge(e) + sent[senders] + received[receivers])
        target = receivers.unsqueeze(1).repeat(1, e.shape[1])
        arrived = torch.zeros_like(h).scatter_add_(0, target, e)
        return h + self.node_net(torch.cat([h, arrived], dim=1)), e


class MeshNet(nn.Module):
    def __init__(self, node_features=3, edge_features=3, hidden=48, rounds=3):
        super().__init__()
        self.node_in = mlp(node_features, hidden, hidden)
        self.edge_in = mlp(edge_features, hidden, hidden)
        self.rounds = nn.ModuleList(Processor(hidden) for _ in range(rounds))
        self.out = mlp(hidden, hidden, 1, norm=False)

    def forward(self, node, edge, senders, receivers):
        h, e = self.node_in(node), self.edge_in(edge)
        for step in self.rounds:
            h, e = step(h, e, senders, receivers)
        return self.out(h).squeeze(1)
