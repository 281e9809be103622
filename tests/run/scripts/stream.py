"""An iterable dataset in two workers, which may ask which one it is in: python stream.py asks|repeats."""

import sys

import torch
from torch import nn
from torch.utils.data import DataLoader, IterableDataset, get_worker_info as worker

torch.set_num_threads(1)


def part():
    return worker().id


class Stream(IterableDataset):
    def __iter__(self):
        return iter(torch.ones(8, 4))


class Parted(IterableDataset):
    def __iter__(self):
        return iter(torch.ones(8, 4)[part() :: 2])


if __name__ == "__main__":
    dataset = Parted() if sys.argv[1] == "asks" else Stream()
    loader = DataLoader(dataset, batch_size=4, num_workers=2, persistent_workers=True)
    model = nn.Linear(4, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for epoch in range(1000):
        for x in loader:
            model(x).sum().backward()
            optimizer.step()
