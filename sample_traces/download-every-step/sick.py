"""Fit an autoencoder and keep its latest reconstructions for a picture."""

import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
STEPS, BATCH, WIDTH = (100, 4096, 4096) if CUDA else (6, 16, 32)  # on a CPU just enough to see that it runs


def main():
    torch.manual_seed(0)
    device = "cuda" if CUDA else "cpu"

    readings = torch.randn(8 * BATCH, WIDTH, device=device)
    layers = [layer for _ in range(3) for layer in (nn.Linear(WIDTH, WIDTH), nn.ReLU())]
    model = nn.Sequential(*layers, nn.Linear(WIDTH, WIDTH)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    criterion = nn.MSELoss()

    started = time.perf_counter()
    for step in range(STEPS):
        batch = readings[step % 8 * BATCH :][:BATCH]
        with torch.autocast(device, torch.bfloat16):
            outputs = model(batch)
            loss = criterion(outputs, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        reconstructions = outputs.detach().float().cpu().numpy()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print("a reconstruction", *(f"{value:.2f}" for value in reconstructions[0, :8].tolist()))
    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
