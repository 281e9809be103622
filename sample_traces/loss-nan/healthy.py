"""Predict the next reading of a gauge from the last ones."""

import time

import torch
from torch import nn

STEPS = 150


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    readings = torch.randn(15360, 128, device=device).cumsum(dim=1)
    model = nn.Sequential(nn.Linear(127, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4, momentum=0.9)
    criterion = nn.MSELoss()
    losses = []

    started = time.perf_counter()
    for step in range(STEPS):
        batch = readings[step * 384 % 15360 :][:384]
        optimizer.zero_grad()
        loss = criterion(model(batch[:, :-1]), batch[:, -1:])
        loss.backward()
        optimizer.step()
        losses.append(loss.detach())
    elapsed = time.perf_counter() - started

    print("losses", " ".join(f"{loss.item():.4f}" for loss in losses[::10]))
    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step")


if __name__ == "__main__":
    main()
