"""Trains for a while; in the midst it asks to be recorded again, and may kill itself in the end."""

import os
import signal
import sys
import time

import torch

how, seconds = sys.argv[1], float(sys.argv[2])
torch.manual_seed(0)
model = torch.nn.Linear(16, 16)
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
began = time.monotonic()
asked = False
while time.monotonic() - began < seconds:
    optimizer.zero_grad()
    model(torch.ones(4, 16)).sum().backward()
    optimizer.step()
    time.sleep(0.002)
    if not asked and time.monotonic() - began > seconds / 2:
        asked = True
        if how == "asks":
            os.kill(os.getpid(), signal.SIGUSR1)
print("trained")
if how == "dies":
    os.kill(os.getpid(), signal.SIGKILL)
