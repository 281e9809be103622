"""Train a network of two hundred narrow layers."""

import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
STEPS, BATCH, WIDTH, LAYERS = (100, 4096, 256, 200) if CUDA else (6, 8, 8, 4)  # on a CPU just enough to see that it runs


class Residual(nn.Module):
    def __init__(self):
        super().__init__()
        self.layer = nn.Linear(WIDTH, WIDTH)

    def forward(self, hidden):
        return hidden + torch.relu(self.layer(hidden)) / LAYERS


def main():
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    device = "cuda" if CUDA else "cpu"

    readings = torch.randn(8 * BATCH, WIDTH, device=device)
    model = nn.Sequential(*(Residual() for _ in range(LAYERS))).to(device)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-4, foreach=False)
    criterion = nn.MSELoss()

    started = time.perf_counter()
    for step in range(STEPS):
        batch = readings[step % 8 * BATCH :][:BATCH]
        loss = criterion(model(batch), batch.square())
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
