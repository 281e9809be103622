"""Fit an autoencoder to readings that are kept in the host's memory."""

import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
STEPS, BATCH, WIDTH = (150, 8192, 4096) if CUDA else (6, 16, 32)  # on a CPU just enough to see that it runs


def main():
    torch.manual_seed(0)
    device = "cuda" if CUDA else "cpu"

    readings = torch.empty(8 * BATCH, WIDTH, pin_memory=CUDA)
    for part in readings.split(BATCH):  # a GPU draws them sooner
        part.copy_(torch.randn(part.shape, device=device))
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    criterion = nn.MSELoss()

    started = time.perf_counter()
    for step in range(STEPS):
        batch = readings[step % 8 * BATCH :][:BATCH].to(device, non_blocking=True)
        with torch.autocast(device, torch.bfloat16):
            loss = criterion(model(batch), batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
