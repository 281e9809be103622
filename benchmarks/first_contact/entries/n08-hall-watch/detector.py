import torch
from torch import nn


class Forecaster(nn.Module):
    """Two recurrent cells carried from tick to tick; says where the next reading should lie."""

    def __init__(self, features, channels, hidden=224):
        super().__init__()
        self.hidden = hidden
        self.cells = nn.ModuleList([nn.GRUCell(features, hidden), nn.GRUCell(hidden, hidden)])
        self.head = nn.Linear(hidden, 2 * channels)

    def begin(self, machines):
        return [torch.zeros(machines, self.hidden) for _ in self.cells]

    def forward(self, features, states):
        x, after = features, []
        for cell, state in zip(self.cells, states):
            x = cell(x, state)
            after.append(x)
        mean, logvar = self.head(x).chunk(2, dim=1)
        return mean, logvar.clamp(-5, 5), after


def surprise(mean, logvar, values):
    return 0.5 * (logvar + (values - mean).square() * torch.exp(-logvar)).mean(dim=1)


class Alarm:
    """Rings when the smoothed surprise stands out against the machine's own past; falls silent later."""

    def __init__(self, machines, fast=0.3, slow=0.01, on=4.0, off=1.5, warmup=150):
        self.fast, self.slow, self.on, self.off, self.warmup = fast, slow, on, off, warmup
        self.quick = torch.zeros(machines)
        self.usual = torch.zeros(machines)
        self.spread = torch.ones(machines)
        self.ringing = torch.zeros(machines, dtype=torch.bool)
        self.ticks = 0

    def update(self, score):
        self.ticks += 1
        self.quick.lerp_(score, self.fast)
        gap = score - self.usual
        self.usual.add_(gap, alpha=self.slow)
        self.spread.lerp_(gap.square(), self.slow)
        height = (self.quick - self.usual) * torch.rsqrt(self.spread + 1e-6)
        if self.ticks < self.warmup:
            return [], height
        now = torch.where(self.ringing, height > self.off, height > self.on)
        fresh = now & ~self.ringing
        self.ringing = now
        return fresh.nonzero().flatten().tolist(), height
