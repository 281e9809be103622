"""Fit a deep network to its own inputs."""

import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
STEPS, BATCH, WIDTH, LAYERS = (150, 8192, 1024, 48) if CUDA else (6, 16, 16, 2)  # on a CPU just enough to see that it runs


def main():
    torch.manual_seed(0)
    device = "cuda" if CUDA else "cpu"

    readings = torch.randn(8 * BATCH, WIDTH, device=device)
    layers = [layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, WIDTH)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    criterion = nn.MSELoss()

    started = time.perf_counter()
    for step in range(STEPS):
        batch = readings[step % 8 * BATCH :][:BATCH]
        with torch.autocast(device, torch.bfloat16):
            loss = criterion(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        torch.cuda.empty_cache()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
