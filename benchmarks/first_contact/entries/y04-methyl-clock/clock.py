"""An epigenetic clock with its own uncertainty."""
import torch
import torch.nn.functional as F
from torch import nn


class Clock(nn.Module):
    """Predicts mean and log deviation of the age, in units of 20 years around 50."""

    def __init__(self, probes, width=256, depth=2, sex_width=8):
        super().__init__()
        self.read = nn.Linear(probes, width)
        self.sex = nn.Embedding(2, sex_width)
        layers, size = [], width + sex_width
        for _ in range(depth):
            layers += [nn.Linear(size, width), nn.SiLU()]
            size = width
        self.body = nn.Sequential(*layers)
        self.out = nn.Linear(width, 2)

    def forward(self, values, sex):
        x = torch.cat([F.silu(self.read(values)), self.sex(sex)], -1)
        mean, log_deviation = self.out(self.body(x)).unbind(-1)
        return mean, log_deviation.clamp(-4, 2)


def age_loss(mean, log_deviation, age):
    error = (age - 50) / 20 - mean
    return (log_deviation + 0.5 * (error * torch.exp(-log_deviation)).square()).mean()


def ridge(model):
    return sum(p.square().sum() for p in model.parameters())
