"""Predict a quantity from spectra, each brought to zero mean and unit deviation first."""

import time

import torch
from torch import nn

STEPS = 150


def normalise(spectra):
    return (spectra - spectra.mean(dim=1, keepdim=True)) / spectra.std(dim=1, keepdim=True)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    spectra = torch.rand(7680, 512, device=device) * torch.rand(7680, 1, device=device)
    amounts = normalise(spectra) @ torch.randn(512, 1, device=device)
    model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    criterion = nn.MSELoss()

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step * 96 % 7680, step * 96 % 7680 + 96)
        optimizer.zero_grad()
        loss = criterion(model(normalise(spectra[rows])), amounts[rows])
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
