"""Trains, and does not end when it is stopped: python lingers.py HOW."""

import atexit
import signal
import sys
import threading
import time

import torch
from torch import nn
from torch.utils.data import DataLoader

torch.set_num_threads(1)
torch.manual_seed(0)

model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
how = sys.argv[1]


def batches():
    while True:
        yield from DataLoader(torch.randn(4096, 8), batch_size=8, num_workers=1 if how == "workers" else 0)


def train():
    for batch in batches():
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()


def linger():
    time.sleep(60)


if how == "atexit":
    atexit.register(linger)
if how == "thread":
    threading.Thread(target=linger).start()
if how == "ignores":
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    signal.signal(signal.SIGINT, signal.SIG_IGN)
try:
    train()
finally:
    if how in ("ignores", "workers"):
        linger()
