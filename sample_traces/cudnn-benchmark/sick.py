"""Train a network of volume convolutions on scans of one size."""

import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
STEPS, BATCH, SIZE, WIDTH = (100, 16, 48, 32) if CUDA else (6, 2, 8, 4)  # on a CPU just enough to see that it runs


def block(inputs, outputs, kernel):
    return nn.Sequential(nn.Conv3d(inputs, outputs, kernel, padding=kernel // 2, bias=False), nn.BatchNorm3d(outputs), nn.ReLU())


def main():
    torch.manual_seed(0)
    device = "cuda" if CUDA else "cpu"

    volumes = torch.randn(4 * BATCH, 1, SIZE, SIZE, SIZE, device=device)
    labels = torch.randint(2, (4 * BATCH,), device=device)
    blocks = nn.Sequential(block(1, WIDTH, 5), block(WIDTH, WIDTH, 3), nn.MaxPool3d(2), block(WIDTH, 2 * WIDTH, 5))
    model = nn.Sequential(blocks, nn.AdaptiveAvgPool3d(1), nn.Flatten(), nn.Linear(2 * WIDTH, 2)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step % 4 * BATCH, (step % 4 + 1) * BATCH)
        with torch.autocast(device, torch.bfloat16):
            outputs = model(volumes[rows])
            loss = criterion(outputs, labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
