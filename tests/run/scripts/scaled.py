"""A GradScaler that refuses every fourth step, because the gradients are infinite."""

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)

model = nn.Linear(4, 1, bias=False)
nn.init.ones_(model.weight)
optimizer = torch.optim.SGD(model.parameters(), lr=0.0)
scaler = torch.amp.GradScaler("cpu", init_scale=8.0, growth_interval=1000000)
for number in range(200):
    optimizer.zero_grad()
    loss = model(torch.ones(2, 4)).square().mean()
    scaler.scale(loss).backward()
    if number % 4 == 3:
        model.weight.grad.fill_(float("inf"))
    scaler.step(optimizer)
    scaler.update(8.0)
