"""Ranks that train together, started by torchrun, or by themselves: python job.py KIND STEPS WORLD_SIZE. What rank 1 does is planted."""

import ctypes
import os
import random
import signal
import sys
import tempfile
import time

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader, Dataset

KIND, STEPS = sys.argv[1], int(sys.argv[2])
ITEM_S, WORK_S = 0.008, 0.045  # four items are 32 ms
LIBC = ctypes.CDLL(None)


class Items(Dataset):
    def __init__(self, rank):
        self.rank = rank

    def __len__(self):
        return 4 * STEPS

    def __getitem__(self, index):
        if self.rank == 1 and KIND == "waits":
            time.sleep(ITEM_S)
        noise = random.random() if self.rank == 1 and KIND == "random" else 0.0
        return torch.full((64,), float(index % 7) + self.rank + noise)


def train(rank, world_size, meeting):
    torch.set_num_threads(1)
    distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=world_size)
    torch.manual_seed(0)
    model = DistributedDataParallel(nn.Sequential(nn.Linear(64, 64), nn.ReLU(), nn.Linear(64, 1)))
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-6)
    loader = DataLoader(Items(rank), batch_size=4)
    for step, batch in enumerate(loader):
        LIBC.usleep(int(1e6 * WORK_S))  # a device that computes
        if rank == 1 and KIND == "computes":
            end = time.perf_counter() + 4 * ITEM_S
            while time.perf_counter() < end:
                sum(range(5000))
        optimizer.zero_grad()
        model(batch).square().mean().backward()
        optimizer.step()
        if rank == 1 and step == 5:
            happen(KIND)
    distributed.destroy_process_group()


def happen(kind):
    if kind == "raises":
        raise ValueError("the script's own error")
    if kind == "is-killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if kind == "hangs":
        time.sleep(1000)


if __name__ == "__main__":
    if "RANK" in os.environ:
        print(f"rank {os.environ['RANK']} with OMP_NUM_THREADS={os.environ.get('OMP_NUM_THREADS')}", flush=True)
        train(int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"]), "env://")
    else:
        world_size = int(sys.argv[3])
        with tempfile.TemporaryDirectory() as folder:
            torch.multiprocessing.spawn(train, (world_size, f"file://{folder}/meeting"), world_size)
