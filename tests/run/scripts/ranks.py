"""Ranks that train together: python ranks.py spawn|fork|launched WORLD_SIZE how steps."""

import ctypes
import os
import signal
import sys
import tempfile

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel
from torch.utils.data import DataLoader

torch.set_num_threads(1)


def train(rank, world_size, how, steps, meeting):
    distributed.init_process_group("gloo", init_method=meeting, rank=rank, world_size=world_size)
    torch.manual_seed(0)
    model = nn.Linear(16, 4)
    if how == "sharded":
        from torch.distributed.device_mesh import init_device_mesh
        from torch.distributed.fsdp import fully_shard

        fully_shard(model, mesh=init_device_mesh("cpu", (world_size,)))
    else:
        model = DistributedDataParallel(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
    workers = {"num_workers": 1, "multiprocessing_context": "spawn"} if how == "workers" else {}
    batches = iter(DataLoader(torch.ones(8 * steps, 16), batch_size=8, **workers))
    for step in range(steps):
        optimizer.zero_grad()
        x = next(batches)
        if how == "accumulates":
            for _ in range(2):
                with model.no_sync():
                    model(x).square().mean().backward()
        loss = model(x).square().mean()
        loss.backward()
        optimizer.step()
        if rank == 1 and step == steps - 5:
            if how == "raises":
                raise ValueError("the script's own error")
            if how == "is-killed":
                os.kill(os.getpid(), signal.SIGKILL)
            if how == "leaves":
                sys.exit(1)
            if how == "fails-first" and os.environ["TORCHELASTIC_RESTART_COUNT"] == "0":
                raise ValueError("the script's own error")
        if rank == 0 and step == steps - 5 and how == "leaves":
            libc, mutex = ctypes.CDLL(None), ctypes.create_string_buffer(64)
            for _ in range(2):
                libc.pthread_mutex_lock(mutex)  # the second time for ever, as in a collective whose other ranks do not come
    os.write(1, f"rank {rank} ends {loss.item():.6f}\n".encode())
    distributed.destroy_process_group()


if __name__ == "__main__":
    start, world_size, how, steps = sys.argv[1], int(sys.argv[2]), sys.argv[3], int(sys.argv[4])
    if start == "launched":
        os.write(1, f"rank {os.environ['RANK']} of {os.environ['WORLD_SIZE']} is {os.environ['LOCAL_RANK']} here\n".encode())
        train(int(os.environ["RANK"]), world_size, how, steps, "env://")
    else:
        with tempfile.TemporaryDirectory() as folder:
            given = (world_size, how, steps, f"file://{folder}/meeting")
            torch.multiprocessing.start_processes(train, args=given, nprocs=world_size, start_method=start)
        print("parent ends")
