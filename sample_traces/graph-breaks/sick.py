"""Train a compiled network that keeps an eye on the size of its activations."""

import time

import torch
from torch import nn

STEPS = 150
WARM_UP = 10


class Layer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)
        self.largest = 0.0

    def forward(self, hidden):
        change = torch.tanh(self.linear(hidden))
        self.largest = max(self.largest, change.detach().abs().max().item())
        return hidden + change


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    inputs = torch.randn(7680, 64, device=device)
    targets = inputs.roll(1, dims=1)
    model = nn.Sequential(*(Layer(64) for _ in range(14))).to(device)
    compiled = torch.compile(model)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    criterion = nn.MSELoss()

    for step in range(WARM_UP + STEPS):
        if step == WARM_UP:
            started = time.perf_counter()
        rows = slice(step * 256 % 7680, step * 256 % 7680 + 256)
        optimizer.zero_grad()
        loss = criterion(compiled(inputs[rows]), targets[rows])
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"largest change {max(float(layer.largest) for layer in model):.3f}")
    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
