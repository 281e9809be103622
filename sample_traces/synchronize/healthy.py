"""Fit a deep network, adding up the gradients of eight parts of each batch and timing their forwards and backwards."""

import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
STEPS, BATCH, WIDTH, LAYERS = (100, 49152, 1024, 16) if CUDA else (6, 16, 16, 2)  # on a CPU just enough to see that it runs
PARTS = 8


def now():
    return time.perf_counter()


def main():
    torch.manual_seed(0)
    device = "cuda" if CUDA else "cpu"

    readings = torch.randn(4 * BATCH, WIDTH, device=device)
    layers = [layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, WIDTH)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    criterion = nn.MSELoss()
    forward = backward = 0.0

    started = time.perf_counter()
    for step in range(STEPS):
        optimizer.zero_grad()
        for part in readings[step % 4 * BATCH :][:BATCH].chunk(PARTS):
            before = now()
            with torch.autocast(device, torch.bfloat16):
                loss = criterion(model(part), part) / PARTS
            between = now()
            loss.backward()
            forward, backward = forward + between - before, backward + now() - between
        optimizer.step()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print(f"backward takes {100 * backward / (forward + backward):.0f} % of both")
    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
