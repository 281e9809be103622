"""Forecast the next value of many noisy waves with a recurrent network."""

import time

import torch
from torch import nn

STEPS = 150


class Forecaster(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.width = width
        self.lstm = nn.LSTMCell(1, width)
        self.head = nn.Linear(width, 1)

    def forward(self, waves):
        state = waves.new_zeros(len(waves), self.width)
        memory = torch.zeros_like(state)
        for values in waves.split(1, dim=1):
            state, memory = self.lstm(values, (state, memory))
        return self.head(state)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    phases = torch.rand(1280, 1, device=device) * 6.28 + torch.linspace(0, 3, 12, device=device)
    waves = phases.sin() + 0.1 * torch.randn(1280, 12, device=device)
    model = Forecaster(width=64).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1, momentum=0.9)
    criterion = nn.MSELoss()

    started = time.perf_counter()
    for step in range(STEPS):
        batch = waves[step * 64 % 1280 :][:64]
        optimizer.zero_grad()
        loss = criterion(model(batch[:, :-1]), batch[:, -1:])
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
