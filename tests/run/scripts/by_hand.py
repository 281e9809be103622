"""A hand-written update; an optimizer is made but never used."""

import sys

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)

model = nn.Linear(8, 1)
if "unused-optimizer" in sys.argv:
    torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(160):
    loss = model(torch.randn(16, 8)).square().mean()
    loss.backward()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter -= 0.01 * parameter.grad
            parameter.grad = None
print(f"{loss.item():.9f}")
