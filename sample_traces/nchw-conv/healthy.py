"""Train a residual network on pictures."""

import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
STEPS, BATCH, SIZE, WIDTH = (100, 128, 56, 256) if CUDA else (6, 2, 8, 8)  # on a CPU just enough to see that it runs


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Sequential(nn.Conv2d(WIDTH, WIDTH, 3, padding=1, bias=False), nn.BatchNorm2d(WIDTH), nn.ReLU())
        self.second = nn.Sequential(nn.Conv2d(WIDTH, WIDTH, 3, padding=1, bias=False), nn.BatchNorm2d(WIDTH))

    def forward(self, maps):
        return torch.relu(maps + self.second(self.first(maps)))


def main():
    torch.manual_seed(0)
    device = "cuda" if CUDA else "cpu"

    pictures = torch.randn(4 * BATCH, 3, 2 * SIZE, 2 * SIZE, device=device)
    labels = torch.randint(10, (4 * BATCH,), device=device)
    stem = nn.Conv2d(3, WIDTH, 3, stride=2, padding=1)
    model = nn.Sequential(stem, Block(), Block(), Block(), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(WIDTH, 10)).to(device)
    model, pictures = model.to(memory_format=torch.channels_last), pictures.to(memory_format=torch.channels_last)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.CrossEntropyLoss()

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step % 4 * BATCH, (step % 4 + 1) * BATCH)
        with torch.autocast(device, torch.bfloat16):
            outputs = model(pictures[rows])
            loss = criterion(outputs, labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
