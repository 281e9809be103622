"""Fit an autoencoder to correlated readings and report how training goes."""

import time

import torch
from torch import nn

STEPS = 150


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    readings = (torch.randn(19200, 24) @ torch.randn(24, 128)).to(device)
    model = nn.Sequential(nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, 24), nn.Linear(24, 256), nn.ReLU(), nn.Linear(256, 128)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.MSELoss()
    losses = []

    started = time.perf_counter()
    for step in range(STEPS):
        batch = readings[step * 1920 % 19200 :][:1920]
        outputs = model(batch)
        loss = criterion(outputs, batch)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        losses.append(loss.detach().clone())
        reconstructions = outputs.detach()
    elapsed = time.perf_counter() - started

    losses = torch.stack(losses).tolist()
    print("losses", " ".join(f"{loss:.4f}" for loss in losses[::10]))
    print("a reconstruction", " ".join(f"{value:.2f}" for value in reconstructions[0, :16].tolist()))
    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {losses[-1]:.4f}")


if __name__ == "__main__":
    main()
