"""Predict the strength of a mixture from simulated measurements."""

import time

import numpy as np
import torch
from torch import nn

STEPS = 150


def simulate(count):
    generator = np.random.default_rng(0)
    mixtures = generator.normal(size=(count, 256))
    strengths = np.sin(mixtures @ generator.normal(size=(256, 1)) / 8)
    return mixtures, strengths


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    mixtures, strengths = (torch.from_numpy(table) for table in simulate(7680))
    mixtures, strengths = mixtures.to(device), strengths.to(device)
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 1)).to(device, mixtures.dtype)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01)
    criterion = nn.MSELoss()

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step * 384 % 7680, step * 384 % 7680 + 384)
        optimizer.zero_grad()
        loss = criterion(model(mixtures[rows]), strengths[rows])
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
