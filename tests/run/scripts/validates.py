"""Epochs of 700 short steps, and 100 ms of validation after each."""

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

torch.set_num_threads(1)
model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)


def train(loader):
    for (x,) in loader:
        optimizer.zero_grad()
        model(x).square().mean().backward()
        optimizer.step()
        time.sleep(0.002)


def validate():
    time.sleep(0.1)


loader = DataLoader(TensorDataset(torch.randn(1400, 8)), batch_size=2)
for epoch in range(4):
    train(loader)
    validate()
