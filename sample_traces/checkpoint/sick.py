"""Train a translator between two feature spaces and leave its weights in a file."""

import tempfile
import time
from pathlib import Path

import torch
from torch import nn

STEPS = 120


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    sources = torch.randn(1280, 384, device=device)
    targets = (sources @ torch.randn(384, 128, device=device) / 20).sin()
    model = nn.Sequential(nn.Linear(384, 640), nn.ReLU(), nn.Linear(640, 640), nn.ReLU(), nn.Linear(640, 128)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.MSELoss()

    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "last.pt"
        started = time.perf_counter()
        for step in range(STEPS):
            rows = slice(step * 128 % 1280, step * 128 % 1280 + 128)
            optimizer.zero_grad()
            loss = criterion(model(sources[rows]), targets[rows])
            loss.backward()
            optimizer.step()
            torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict()}, path)
        elapsed = time.perf_counter() - started
        kept = len(torch.load(path)["model"])

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}, {kept} tensors kept")


if __name__ == "__main__":
    main()
