"""Tell sounds apart by their spectra, taken with a matrix of waves."""

import time

import numpy as np
import torch
from torch import nn

STEPS = 150


def waves(length):
    angles = 2 * np.pi * np.outer(np.arange(length), np.arange(length // 2)) / length
    return np.concatenate([np.cos(angles), np.sin(angles)], axis=1) / np.sqrt(length)


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    basis = torch.from_numpy(waves(1536)).to(device, torch.float32)
    pitches = torch.randint(4, (2400,), device=device)
    sounds = (0.1 * (pitches[:, None] + 1) * torch.arange(1536, device=device)).sin() + torch.randn(2400, 1536, device=device)
    model = nn.Sequential(nn.Linear(1536, 64), nn.ReLU(), nn.Linear(64, 4)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step * 48 % 2400, step * 48 % 2400 + 48)
        spectra = (sounds[rows] @ basis).square()
        optimizer.zero_grad()
        loss = criterion(model(spectra), pitches[rows])
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
