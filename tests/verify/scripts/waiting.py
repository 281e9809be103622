"""Trains a tiny model on items that take time, as the first argument says."""

import random
import sys
import time

import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset, get_worker_info

KIND = sys.argv[1]
STEPS = int(sys.argv[2]) if len(sys.argv) > 2 else 400


class Items(Dataset):
    def __len__(self):
        return 4 * STEPS

    def __getitem__(self, index):
        if KIND == "slow":
            time.sleep(0.004)
        if KIND == "fails-in-worker" and get_worker_info() is not None:
            raise RuntimeError("no workers here")
        if KIND == "hangs" and index >= 40:
            time.sleep(3600)
        if KIND == "random":
            return torch.randn(8) + random.random()
        return torch.full((8,), float(index % 7))


torch.manual_seed(1)
loader = DataLoader(Items(), batch_size=4)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
for batch in loader:
    loss = model(batch).square().mean() / 100
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print("finished")
