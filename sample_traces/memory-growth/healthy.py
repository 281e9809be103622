"""Restore noisy signals and keep an account of the errors."""

import time

import torch
from torch import nn

STEPS = 240


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    signals = (torch.rand(7680, 1, device=device) * 40 * torch.linspace(0, 1, 512, device=device)).sin()
    model = nn.Sequential(nn.Linear(512, 128), nn.ReLU(), nn.Linear(128, 512)).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.MSELoss()
    errors = []

    started = time.perf_counter()
    for step in range(STEPS):
        clean = signals[step * 768 % 7680 :][:768]
        restored = model(clean + 0.1 * torch.randn_like(clean))
        loss = criterion(restored, clean)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        errors.append((restored - clean).abs().mean().detach())
    elapsed = time.perf_counter() - started

    print("errors", " ".join(f"{error.item():.4f}" for error in errors[::10]))
    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
