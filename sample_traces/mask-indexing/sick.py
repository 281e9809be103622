"""Predict 48 properties of molecules, of which not all are known."""

import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
STEPS, BATCH, WIDTH = (100, 8192, 4096) if CUDA else (6, 64, 32)  # on a CPU just enough to see that it runs
TASKS = 48


def loss_of(outputs, targets, known):
    total = torch.zeros((), device=outputs.device)
    for output, target, present in zip(outputs.unbind(1), targets.unbind(1), known.unbind(1), strict=True):
        total = total + (output[present] - target[present]).square().mean()
    return total / TASKS


def main():
    torch.manual_seed(0)
    device = "cuda" if CUDA else "cpu"

    inputs = torch.randn(8 * BATCH, WIDTH, device=device)
    targets = torch.randn(8 * BATCH, TASKS, device=device)
    known = torch.rand(8 * BATCH, TASKS, device=device) < 0.8
    model = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, TASKS)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step % 8 * BATCH, (step % 8 + 1) * BATCH)
        with torch.autocast(device, torch.bfloat16):
            outputs = model(inputs[rows])
        loss = loss_of(outputs.float(), targets[rows], known[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
