"""Three batches a step and five steps an epoch; then validation on more data, from a loader that the same line makes."""

import torch
from torch import nn
from torch.utils.data import DataLoader

torch.set_num_threads(1)
torch.manual_seed(0)


def loader_of(count):
    return DataLoader(torch.randn(count, 8), batch_size=2)


model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
train, validation = loader_of(30), loader_of(80)
for _ in range(20):
    for number, x in enumerate(train):
        model(x).square().mean().backward()
        if number % 3 == 2:
            optimizer.step()
            optimizer.zero_grad()
    with torch.no_grad():
        for x in validation:
            model(x)
