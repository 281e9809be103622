"""A process group of one, with a model that is made ready for more: python distributed.py file."""

import sys

import torch
from torch import distributed, nn
from torch.nn.parallel import DistributedDataParallel

torch.set_num_threads(1)
distributed.init_process_group("gloo", init_method=f"file://{sys.argv[1]}", rank=0, world_size=1)
model = DistributedDataParallel(module=nn.Linear(4, 2), find_unused_parameters=True, bucket_cap_mb=7)  # wrapped
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for number in range(60):
    optimizer.zero_grad()
    model(torch.ones(2, 4)).sum().backward()
    optimizer.step()
distributed.destroy_process_group()
