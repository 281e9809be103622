"""Train a classifier of small pictures; the whole data set is in memory, so the loader needs no workers."""

import time

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset

EPOCHS = 10


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    pictures = torch.randn(480, 3, 64, 64)
    labels = (pictures.mean(dim=(1, 2, 3)) > 0).long()
    loader = DataLoader(TensorDataset(pictures, labels), batch_size=32, shuffle=True, pin_memory=device == "cuda")
    model = nn.Sequential(
        nn.Conv2d(3, 16, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(16), nn.ReLU(),
        nn.Conv2d(16, 32, 3, padding=1, bias=False), nn.BatchNorm2d(32), nn.ReLU(),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(32, 2),
    ).to(device)  # fmt: skip
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)
    criterion = nn.CrossEntropyLoss()

    step = 0
    started = time.perf_counter()
    for _epoch in range(EPOCHS):
        total = torch.zeros((), device=device)
        for batch, targets in loader:
            batch = batch.to(device, non_blocking=True)
            targets = targets.to(device, non_blocking=True)
            optimizer.zero_grad()
            loss = criterion(model(batch), targets)
            loss.backward()
            optimizer.step()
            total += loss.detach()
            step += 1
    elapsed = time.perf_counter() - started

    print(f"{step} steps, {1000 * elapsed / step:.1f} ms a step, last loss {total.item() / len(loader):.4f}")


if __name__ == "__main__":
    main()
