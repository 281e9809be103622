"""Every kind of call from a user's line; the comments name what a test expects."""

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.inner = nn.Linear(8, 8)
        self.weight = nn.Parameter(torch.eye(8))

    def forward(self, x):
        x = self.inner(x)  # inner
        for _ in range(2):
            x = torch.tanh(x)  # tanh
            x = x @ self.weight + 1  # operators
        return x


def read(loss):
    return (
        loss.item()  # item
    )


def main():
    model = Net()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    for step in range(1000):
        loss = model(torch.ones(4, 8)).sum()  # forward
        optimizer.zero_grad()  # zero
        loss.backward()  # backward
        optimizer.step()  # optimizer
        read(loss)  # read
        if loss.detach() > 1e9:  # bool
            break
        f"{loss.detach():.3f}"  # format
        repr(loss)  # repr
        loss.detach().cpu().numpy().tolist()  # cpu
        total = [float(loss), int(loss.detach())]  # float
        total.sort()


main()
