"""Trains within an address space of so many megabytes more than torch needs: 40 blocks, whose activations for a
batch of 4096 do not fit. Arguments: megabytes, and `checkpoint` or `accumulate` for what is usually advised.
"""

import resource
import sys

import psutil
import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

torch.set_num_threads(1)
MEGABYTES, HOW = int(sys.argv[1]), sys.argv[2:]


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        hidden = torch.relu(self.up(x))
        return x + self.down(hidden)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.blocks = nn.ModuleList(Block(128) for _ in range(40))

    def forward(self, x):
        for block in self.blocks:
            x = checkpoint(block, x, use_reentrant=False) if "checkpoint" in HOW else block(x)
        return x


net = Net()
optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
most = psutil.Process().memory_info().vms + MEGABYTES * 10**6
resource.setrlimit(resource.RLIMIT_AS, (most, most))
for _ in range(2):
    batch = torch.randn(4096, 128)
    optimizer.zero_grad()
    for part in batch.chunk(8 if "accumulate" in HOW else 1):
        net(part).square().mean().backward()
    optimizer.step()
print("trained")
