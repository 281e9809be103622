"""Ranks of a job, of which the second becomes slower after so many seconds; the others wait for it."""

import os
import sys
import time

import torch
from torch.nn.parallel import DistributedDataParallel


def reads_longer():
    time.sleep(0.006)


seconds = float(sys.argv[1])
torch.distributed.init_process_group("gloo")
late = os.environ["RANK"] == "1"
model = DistributedDataParallel(torch.nn.Linear(16, 16))
optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
began = time.monotonic()
for step in range(1_000_000):
    optimizer.zero_grad()
    model(torch.ones(4, 16)).sum().backward()
    optimizer.step()
    time.sleep(0.004)
    if late and time.monotonic() - began > seconds:
        reads_longer()
    if step % 50 == 0:
        over = torch.tensor(time.monotonic() - began > 2 * seconds)
        torch.distributed.broadcast(over, 0)
        if over:
            break
torch.distributed.destroy_process_group()
