"""Each step takes 128 MB from the system and gives them back."""

import torch
from torch import nn

torch.set_num_threads(1)
layer = nn.Linear(4, 4)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
for _ in range(100000):
    large = torch.ones(2**24) * 2
    optimizer.zero_grad()
    loss = layer(torch.ones(2, 4)).sum() + large[0]
    del large
    loss.backward()
    optimizer.step()
