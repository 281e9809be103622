"""Asks for more memory than there is in the forward of the step that its argument says."""

import sys

import torch
from torch import nn

torch.set_num_threads(1)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer, self.calls = nn.Linear(8, 1), 0

    def forward(self, x):
        self.calls += 1
        if self.calls == int(sys.argv[1]):
            torch.empty(10**15)  # too much
        return self.layer(x)


model = Net()
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(1000):
    optimizer.zero_grad()
    model(torch.randn(4, 8)).sum().backward()
    optimizer.step()
