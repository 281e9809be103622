"""Fit a wide network to the squares of its inputs."""

import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
STEPS, BATCH, WIDTH = (100, 8192, 4096) if CUDA else (6, 16, 32)  # on a CPU just enough to see that it runs


def main():
    torch.manual_seed(0)
    device = "cuda" if CUDA else "cpu"

    readings = torch.randn(8 * BATCH, WIDTH, device=device)
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    criterion = nn.MSELoss()

    started = time.perf_counter()
    for step in range(STEPS):
        batch = readings[step % 8 * BATCH :][:BATCH]
        outputs = model(batch)
        loss = criterion(outputs, batch.square())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
