"""Fit an autoencoder to readings."""

import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
READINGS, WIDTH, LAYERS = (524_288, 512, 8) if CUDA else (49152, 8, 2)  # on a CPU just enough to see that it runs
BATCH = 64
STEPS = READINGS // BATCH


def main():
    torch.manual_seed(0)
    device = "cuda" if CUDA else "cpu"

    readings = torch.randn(READINGS, WIDTH, device=device)
    layers = [layer for _ in range(LAYERS) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, WIDTH)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    criterion = nn.MSELoss()

    started = time.perf_counter()
    for batch in readings.split(BATCH):
        with torch.autocast(device, torch.bfloat16):
            loss = criterion(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, for 8192 readings {1000 * elapsed / READINGS * 8192:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
