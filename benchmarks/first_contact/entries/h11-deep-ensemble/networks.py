import math

import torch
from torch import nn


class StackedLinear(nn.Module):
    """One linear layer for each member, all in a single batched product."""

    def __init__(self, members, inputs, outputs):
        super().__init__()
        bound = 1 / math.sqrt(inputs)
        self.weight = nn.Parameter(torch.empty(members, inputs, outputs).uniform_(-bound, bound))
        self.bias = nn.Parameter(torch.empty(members, 1, outputs).uniform_(-bound, bound))

    def forward(self, x):
        return torch.baddbmm(self.bias, x, self.weight)


class Ensemble(nn.Module):
    def __init__(self, members, inputs, width=160):
        super().__init__()
        self.members = members
        self.net = nn.Sequential(
            StackedLinear(members, inputs, width), nn.ReLU(inplace=True),
            StackedLinear(members, width, width), nn.ReLU(inplace=True),
            StackedLinear(members, width, width), nn.ReLU(inplace=True),
            StackedLinear(members, width, 2),
        )

    def forward(self, x):
        """x: members x rows x inputs, or rows x inputs for every member alike."""
        if x.dim() == 2:
            x = x.expand(self.members, *x.shape)
        mean, spread = self.net(x).unbind(-1)
        return mean, spread.clamp(-6, 4)

    @torch.inference_mode()
    def predict(self, x):
        mean, log_variance = self(x)
        centre = mean.mean(0)
        variance = (log_variance.exp() + mean.square()).mean(0) - centre.square()
        return centre, variance
