"""Four backwards a step."""

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)

model = nn.Linear(8, 1)
optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
for _ in range(120):
    for _ in range(4):
        loss = model(torch.randn(16, 8)).square().mean() / 4
        loss.backward()
    optimizer.step()
    optimizer.zero_grad()
print(f"{loss.item():.9f}")
