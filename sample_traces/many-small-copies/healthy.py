"""Predict a quantity from tables with many columns, kept in pinned memory."""

import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
STEPS, BATCH, COLUMNS, WIDTH = (150, 2048, 512, 4096) if CUDA else (6, 16, 8, 32)  # on a CPU just enough to see that it runs


def main():
    torch.manual_seed(0)
    device = "cuda" if CUDA else "cpu"

    tables = torch.randn(16, COLUMNS, BATCH)
    tables = tables.pin_memory() if CUDA else tables
    model = nn.Sequential(nn.Linear(COLUMNS, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, 1)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    started = time.perf_counter()
    for step in range(STEPS):
        table = tables[step % 16].to(device, non_blocking=True).T
        with torch.autocast(device, torch.bfloat16):
            loss = (model(table).squeeze(1) - table.mean(dim=1)).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
