"""Tensors of many sizes, one of which lives at any time: what is freed teaches malloc to keep the next."""

import torch
from torch import nn

torch.set_num_threads(1)
layer = nn.Linear(4, 4)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
large = torch.zeros(1)
for step in range(100000):
    large = torch.ones(2**18 * (10 + step % 5))
    optimizer.zero_grad()
    layer(torch.ones(2, 4)).sum().backward()
    optimizer.step()
