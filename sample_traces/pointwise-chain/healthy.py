"""Train a network of scales and smooth activations on long signals."""

import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
STEPS, BATCH, WIDTH = (100, 8192, 8192) if CUDA else (6, 16, 32)  # on a CPU just enough to see that it runs


@torch.compile
def activation(inputs):
    return 0.5 * inputs * (1 + torch.tanh(0.7979 * (inputs + 0.0447 * inputs * inputs * inputs)))


class Scale(nn.Module):
    def __init__(self):
        super().__init__()
        self.weight = nn.Parameter(torch.ones(WIDTH))

    def forward(self, signals):
        return activation(signals * self.weight)


def main():
    torch.manual_seed(0)
    device = "cuda" if CUDA else "cpu"

    signals = torch.randn(2 * BATCH, WIDTH, device=device)
    model = nn.Sequential(Scale(), Scale()).to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-3)

    started = time.perf_counter()
    for step in range(STEPS):
        batch = signals[step % 2 * BATCH :][:BATCH]
        loss = (model(batch) - batch).square().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
