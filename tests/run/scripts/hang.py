"""Never ticks."""

import time

import torch

print(torch.ones(2).sum().item(), flush=True)
while True:
    time.sleep(0.05)
