"""Learn to clean speech: a recorded background is mixed into every batch, and the network takes it out again."""

import tempfile
import time
from pathlib import Path

import numpy as np
import torch
from torch import nn

STEPS = 150


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    speech = torch.randn(1280, 512, device=device).cumsum(dim=1) / 20
    model = nn.Sequential(nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 512)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.MSELoss()

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "background.npy"
        np.save(path, np.random.default_rng(0).normal(size=(8192, 512)).astype(np.float32))
        started = time.perf_counter()
        for step in range(STEPS):
            rows = slice(step * 128 % 1280, step * 128 % 1280 + 128)
            background = np.load(path)
            noise = torch.from_numpy(background[step * 128 % 8192 :][:128]).to(device)
            optimizer.zero_grad()
            loss = criterion(model(speech[rows] + 0.1 * noise), speech[rows])
            loss.backward()
            optimizer.step()
        elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
