"""Starts a child while it trains, ends it by SIGTERM, and trains on."""

import os
import signal
import time

import torch
from torch import nn

torch.set_num_threads(1)

model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for number in range(120):
    optimizer.zero_grad()
    model(torch.ones(16, 8)).square().mean().backward()
    optimizer.step()
    if number == 10:
        child = os.fork()
        while not child:
            time.sleep(60)
        time.sleep(0.2)
        os.kill(child, signal.SIGTERM)
        print("the child ended by", os.WTERMSIG(os.waitpid(child, 0)[1]), flush=True)
        time.sleep(1.5)
print("SIGTERM is left to", signal.getsignal(signal.SIGTERM).name)
