"""Children that train, by spawn or by fork."""

import sys

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)

import torch.multiprocessing as mp  # noqa: E402


def train(rank, steps):
    torch.set_num_threads(1)
    model = nn.Linear(8, 1)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for _ in range(steps):
        optimizer.zero_grad()
        loss = model(torch.randn(16, 8)).square().mean()
        loss.backward()
        optimizer.step()
    print(f"rank {rank} ends\n", end="", flush=True)  # in one piece: the other rank prints at the same moment


if __name__ == "__main__":
    how, steps = sys.argv[1], int(sys.argv[2])
    if how == "spawn":
        mp.spawn(train, args=(steps,), nprocs=2)
    else:
        children = [mp.get_context("fork").Process(target=train, args=(rank, steps)) for rank in range(2)]
        for child in children:
            child.start()
        for child in children:
            child.join()
    print("parent ends")
