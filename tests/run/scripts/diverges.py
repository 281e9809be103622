"""Every loss is not a number."""

import torch

torch.set_num_threads(1)
weight = torch.ones(3, requires_grad=True)
optimizer = torch.optim.SGD([weight], lr=0.1)
for number in range(200):
    optimizer.zero_grad()
    loss = (weight * float("nan")).sum()
    loss.backward()
    optimizer.step()
