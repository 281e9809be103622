import torch
from torch import nn


def tower(sizes):
    layers = []
    for a, b in zip(sizes[:-1], sizes[1:]):
        layers += [nn.Linear(a, b), nn.Tanh()]
    return nn.Sequential(*layers)


class RegretNet(nn.Module):
    """Allocation and payment networks for additive bidders."""

    def __init__(self, n_agents, n_items, hidden=100, depth=2):
        super().__init__()
        self.n_agents, self.n_items = n_agents, n_items
        sizes = [n_agents * n_items] + [hidden] * depth
        self.allocation = tower(sizes)
        self.allocation_head = nn.Linear(hidden, (n_agents + 1) * n_items)
        self.payment = tower(sizes)
        self.payment_head = nn.Linear(hidden, n_agents)
        for module in self.modules():
            if isinstance(module, nn.Linear):
                nn.init.xavier_uniform_(module.weight)
                nn.init.zeros_(module.bias)

    def forward(self, bids):
        flat = bids.flatten(1)
        scores = self.allocation_head(self.allocation(flat))
        shares = scores.view(-1, self.n_agents + 1, self.n_items).softmax(1)
        allocation = shares[:, :self.n_agents]
        fraction = torch.sigmoid(self.payment_head(self.payment(flat)))
        payments = fraction * (allocation * bids).sum(-1)
        return allocation, payments


def utility(valuations, allocation, payments):
    return (allocation * valuations).sum(-1) - payments


def deviation_utility(model, valuations, misreports):
    """Utility of every agent when it alone bids its misreport."""
    batch, n, m = valuations.shape
    own = torch.arange(n)
    bids = valuations.unsqueeze(1).repeat(1, n, 1, 1)
    bids[:, own, own] = misreports
    allocation, payments = model(bids.view(-1, n, m))
    allocation = allocation.view(batch, n, n, m)[:, own, own]
    payments = payments.view(batch, n, n)[:, own, own]
    return utility(valuations, allocation, payments)


def utility_gain(model, valuations, misreports):
    """What each agent wins by its misreport over bidding the truth."""
    truthful = utility(valuations, *model(valuations))
    return deviation_utility(model, valuations, misreports) - truthful


def best_misreports(model, valuations, steps, lr):
    """Gradient ascent on the bids, started from random ones."""
    misreports = torch.rand_like(valuations)
    for _ in range(steps):
        misreports.requires_grad_(True)
        model.zero_grad()
        gain = utility_gain(model, valuations, misreports).sum()
        gain.backward()
        misreports = (misreports + lr * misreports.grad).detach().clamp(0, 1)
    return misreports
