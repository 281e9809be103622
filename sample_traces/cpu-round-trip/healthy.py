"""Train a network that compares directions: its features have unit length."""

import time

import torch
from torch import nn
from torch.nn import functional

CUDA = torch.cuda.is_available()
STEPS, BATCH, WIDTH = (100, 8192, 2048) if CUDA else (6, 16, 32)  # on a CPU just enough to see that it runs


class Directions(nn.Module):
    def __init__(self):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH), nn.ReLU(), nn.Linear(WIDTH, WIDTH))
        self.head = nn.Linear(WIDTH, 1000)

    def forward(self, batch):
        features = self.encoder(batch).float()
        features = functional.normalize(features, dim=1)
        return self.head(features)


def main():
    torch.manual_seed(0)
    device = "cuda" if CUDA else "cpu"

    inputs = torch.randn(8 * BATCH, WIDTH, device=device)
    labels = torch.randint(1000, (8 * BATCH,), device=device)
    model = Directions().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step % 8 * BATCH, (step % 8 + 1) * BATCH)
        with torch.autocast(device, torch.bfloat16):
            loss = functional.cross_entropy(model(inputs[rows]), labels[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
