import math

import torch
import torch.nn as nn


class Coupling(nn.Module):
    """Scales and shifts one half of the curves, given the other half."""

    def __init__(self, curves, hidden):
        super().__init__()
        self.half = curves // 2
        last = nn.Linear(hidden, 2 * (curves - self.half))
        nn.init.zeros_(last.weight)
        nn.init.zeros_(last.bias)
        self.net = nn.Sequential(
            nn.Linear(self.half, hidden), nn.ReLU(inplace=True),
            nn.Linear(hidden, hidden), nn.ReLU(inplace=True),
            nn.Linear(hidden, hidden), nn.ReLU(inplace=True),
            last,
        )

    def forward(self, x):
        keep, change = x[:, :self.half], x[:, self.half:]
        scale, shift = self.net(keep).chunk(2, dim=1)
        scale = scale.tanh()
        return torch.cat([change * scale.exp() + shift, keep], dim=1), scale.sum(dim=1)


class RealNVP(nn.Module):
    def __init__(self, curves, hidden, couplings):
        super().__init__()
        self.couplings = nn.ModuleList(Coupling(curves, hidden) for _ in range(couplings))
        self.constant = -0.5 * curves * math.log(2 * math.pi)

    def log_prob(self, x):
        total = 0.0
        for coupling in self.couplings:
            x, log_det = coupling(x)
            total = total + log_det
        return total + self.constant - 0.5 * x.square().sum(dim=1)
