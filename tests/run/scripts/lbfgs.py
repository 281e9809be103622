"""LBFGS: tens of closures a step."""

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)

model = nn.Linear(8, 1)
optimizer = torch.optim.LBFGS(model.parameters(), lr=0.1, max_iter=5)
x, y = torch.randn(32, 8), torch.randn(32, 1)


def closure():
    optimizer.zero_grad()
    loss = nn.functional.mse_loss(model(x), y)
    loss.backward()
    return loss


for _ in range(60):
    loss = optimizer.step(closure)
print(f"{loss.item():.9f}")
