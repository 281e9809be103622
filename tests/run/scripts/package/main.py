"""Relative imports under `python -m package.main`."""

import sys

import torch
from torch import nn

from .inner.values import FACTOR

torch.set_num_threads(1)
torch.manual_seed(0)
print(__name__, __package__, sys.argv[1:], FACTOR)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(60):
    optimizer.zero_grad()
    model(torch.randn(16, 8)).square().mean().backward()
    optimizer.step()
