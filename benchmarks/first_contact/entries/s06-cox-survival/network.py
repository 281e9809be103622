import torch
from torch import nn

from cohort import CARDINALITIES, NUMERIC


class ResidualBlock(nn.Module):
    def __init__(self, width, hidden):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up, self.down = nn.Linear(width, hidden), nn.Linear(hidden, width)
        self.act = nn.ReLU(inplace=True)

    def forward(self, x):
        return x + self.down(self.act(self.up(self.norm(x))))


class RiskNet(nn.Module):
    """Log hazard ratio from embedded categories and numeric covariates."""

    def __init__(self, embedding=8, width=192, hidden=384, blocks=3):
        super().__init__()
        self.embedding = nn.Embedding(sum(CARDINALITIES), embedding)
        nn.init.normal_(self.embedding.weight, std=0.1)
        self.enter = nn.Linear(NUMERIC + embedding * len(CARDINALITIES), width)
        self.blocks = nn.Sequential(*[ResidualBlock(width, hidden) for _ in range(blocks)])
        self.head = nn.Sequential(nn.LayerNorm(width), nn.ReLU(), nn.Linear(width, 1))

    def forward(self, numeric, categories):
        x = torch.cat([numeric, self.embedding(categories).flatten(1)], dim=1)
        return self.head(self.blocks(self.enter(x))).squeeze(1)


def cox_loss(risk, time, event):
    """Negative partial log likelihood (Breslow) within a batch."""
    order = time.argsort(descending=True)
    risk, event = risk[order], event[order]
    at_risk = risk.logcumsumexp(0)
    return ((at_risk - risk) * event).sum() / event.sum().clamp(min=1)


def concordance(risk, time, event):
    """Harrell's C: over pairs whose order is known, the share that the risk orders rightly."""
    known = (time[:, None] < time[None, :]) & event.bool()[:, None]
    difference = risk[:, None] - risk[None, :]
    right = (difference > 0) & known
    tied = (difference == 0) & known
    return ((right.sum() + 0.5 * tied.sum()) / known.sum()).item()
