"""Trains for ever, slowly, until Ctrl-C."""

import sys
import time

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)

model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
print("ready", flush=True)
try:
    for number in range(1_000_000):
        optimizer.zero_grad()
        model(torch.randn(16, 8)).square().mean().backward()
        optimizer.step()
        if number == 4:
            print("ticking", flush=True)
        time.sleep(0.05 if "slow" in sys.argv else 0)
        while "stuck" in sys.argv and number == 6:
            time.sleep(0.05)
except KeyboardInterrupt:
    print("interrupted", flush=True)
    raise
