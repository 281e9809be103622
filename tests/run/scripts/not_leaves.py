"""The model runs with weights that are computed, and another one follows it with its history."""

import copy

import torch
from torch import nn
from torch.func import functional_call

layer = nn.Linear(4, 4)
follower = copy.deepcopy(layer).requires_grad_(False)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.01)
for _ in range(100000):
    weights = {name: weight * 2 for name, weight in layer.named_parameters()}
    optimizer.zero_grad()
    loss = functional_call(layer, weights, torch.ones(2, 4)).sum() + follower(torch.ones(2, 4)).sum().detach()
    loss.backward()
    optimizer.step()
    for weight, new in zip(follower.parameters(), layer.parameters()):
        weight.detach_().lerp_(new, 0.1)
