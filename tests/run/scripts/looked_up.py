"""Imports sorted by name: a library that looks whether torch is installed comes before torch."""

import looks_for_torch
import torch
from torch import nn

torch.set_num_threads(1)

model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(200 * looks_for_torch.FOUND):
    optimizer.zero_grad()
    model(torch.randn(16, 8)).square().mean().backward()
    optimizer.step()
