"""Train on sequences grouped by their length, short ones first."""

import time

import torch
from torch import nn

STEPS = 150
BATCH = 64


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    lengths = (torch.rand(60_000) * 500).tolist()
    features = torch.randn(len(lengths), 128)
    features[:, 0] = torch.tensor(lengths) / 500
    model = nn.Sequential(nn.Linear(128, 1024), nn.ReLU(), nn.Linear(1024, 1024), nn.ReLU(), nn.Linear(1024, 1)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-3, momentum=0.9)
    criterion = nn.MSELoss()

    order = sorted(range(len(lengths)), key=lengths.__getitem__)
    started = time.perf_counter()
    for step in range(STEPS):
        batch = features[order[step * BATCH :][:BATCH]].to(device)
        optimizer.zero_grad()
        loss = criterion(model(batch).squeeze(1), batch[:, 0].sqrt())
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
