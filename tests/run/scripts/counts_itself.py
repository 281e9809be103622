"""A model that draws from a generator of its own and counts its calls: what a copy of it would change."""

import numpy as np
import torch
from torch import nn

torch.manual_seed(0)
torch.set_num_threads(1)
generator, calls = np.random.default_rng(0), []


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Conv2d(3, 8, 3, padding=1), nn.Conv2d(8, 8, 3, padding=1)
        self.head = nn.Linear(8, 4)

    def forward(self, x):
        x = torch.relu(self.first(x))
        if generator.random() < 0.5:
            x = x + torch.relu(self.second(x))
        return self.head(x.mean((2, 3)))


net = Net()
net.register_forward_pre_hook(lambda module, given: calls.append(1))
optimizer = torch.optim.SGD(net.parameters(), 0.05)
for _ in range(500):
    loss = net(torch.randn(8, 3, 12, 12)).square().mean()
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
print(len(calls), generator.random(), loss.item())
