import torch
from torch import nn


class Policy(nn.Module):
    """Positions in spot and variance swap from the market state and the last positions."""

    def __init__(self, n_state, n_assets=2, hidden=128):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(n_state + n_assets, hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.ReLU(),
            nn.Linear(hidden, n_assets))

    def forward(self, state, held):
        return self.net(torch.cat([state, held], 1))


class OCE(nn.Module):
    """Conditional value at risk with its threshold learnt alongside the policy."""

    def __init__(self, level=0.9):
        super().__init__()
        self.level = level
        self.threshold = nn.Parameter(torch.zeros(()))

    def forward(self, loss):
        return self.threshold + torch.relu(loss - self.threshold).mean() / (1 - self.level)


def market_state(log_spot, variance, heston, strike):
    steps = heston.steps
    left = (1 - torch.arange(steps) / steps).view(-1, 1).expand(steps, log_spot.shape[1])
    vol = variance[:-1].sqrt()
    moneyness = (log_spot[:-1] - strike.log()) / 0.05
    return torch.stack([moneyness, 5 * vol - 1, left], 2)


def hedge(policy, state, prices, cost):
    """Gains less trading costs of following the policy along all paths."""
    held = torch.zeros_like(prices[0])
    positions = []
    for now in state:
        held = policy(now, held)
        positions.append(held)
    positions = torch.stack(positions)
    none = torch.zeros_like(positions[:1])
    trades = torch.diff(positions, dim=0, prepend=none, append=none)
    gains = (positions * (prices[1:] - prices[:-1])).sum((0, 2))
    return gains - (trades.abs() * prices * cost).sum((0, 2))
