"""Train a small recurrent network with a memory that starts empty."""

import time

import torch
from torch import nn

CUDA = torch.cuda.is_available()
STEPS, BATCH, WIDTH = (150, 4096, 4096) if CUDA else (6, 16, 32)  # on a CPU just enough to see that it runs
ROUNDS = 4


class Recurrent(nn.Module):
    def __init__(self):
        super().__init__()
        self.cell = nn.Linear(2 * WIDTH, WIDTH)

    def forward(self, inputs):
        memory = torch.zeros(len(inputs), WIDTH, device=inputs.device)
        for _round in range(ROUNDS):
            memory = torch.tanh(self.cell(torch.cat([inputs, memory], dim=1)))
        return memory


def main():
    torch.manual_seed(0)
    device = "cuda" if CUDA else "cpu"

    inputs = torch.randn(4 * BATCH, WIDTH, device=device)
    targets = torch.rand(4 * BATCH, WIDTH, device=device)
    model = Recurrent().to(device)
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-4)
    criterion = nn.MSELoss()

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step % 4 * BATCH, (step % 4 + 1) * BATCH)
        with torch.autocast(device, torch.bfloat16):
            loss = criterion(model(inputs[rows]), targets[rows])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    last = loss.item()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {last:.4f}")


if __name__ == "__main__":
    main()
