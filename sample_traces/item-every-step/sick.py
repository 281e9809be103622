"""Fit a deep network, adding up the gradients of eight parts of each batch."""

import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
STEPS, BATCH, WIDTH, LAYERS = (100, 49152, 1024, 16) if CUDA else (6, 16, 16, 2)  # on a CPU just enough to see that it runs
PARTS = 8


def main():
    torch.manual_seed(0)
    device = "cuda" if CUDA else "cpu"

    readings = torch.randn(4 * BATCH, WIDTH, device=device)
    layers = [layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, WIDTH)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    criterion = nn.MSELoss()
    total = torch.zeros((), device=device)

    started = time.perf_counter()
    for step in range(STEPS):
        optimizer.zero_grad()
        for part in readings[step % 4 * BATCH :][:BATCH].chunk(PARTS):
            with torch.autocast(device, torch.bfloat16):
                loss = criterion(model(part), part) / PARTS
            loss.backward()
            total += loss.item()
        optimizer.step()
    average = total.item() / STEPS
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, average loss {average:.4f}")


if __name__ == "__main__":
    main()
