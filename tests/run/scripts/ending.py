"""A training loop that ends in the way its first argument says, after as many steps as its second."""

import os
import sys

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)

model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def train(steps):
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(torch.randn(16, 8)).square().mean()
        loss.backward()
        optimizer.step()
    print(f"{loss.item():.9f}")


how, count = sys.argv[1], int(sys.argv[2])
while how == "swallow":
    try:
        train(count)
    except:  # noqa: E722
        pass
train(count)
if how == "exit7":
    sys.exit(7)
if how == "os-exit":
    sys.stdout.write("unflushed")
    os._exit(5)
if how == "raise":
    raise ValueError("the script's own error")
if how == "sigkill":
    os.kill(os.getpid(), 9)
if how == "stdin":
    print("read", sys.stdin.read().strip())
