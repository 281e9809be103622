"""Train a controller's model of its plant while an operator may ask for another learning rate."""

import queue
import time

import torch
from torch import nn

STEPS = 150


def newest(inbox, rate):
    """The learning rate last asked for, or the one there was."""
    while not inbox.empty():
        rate = inbox.get()
    return rate


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    states = torch.randn(2560, 256, device=device)
    changes = (states @ torch.randn(256, 256, device=device) / 16).tanh() - states
    model = nn.Sequential(nn.Linear(256, 512), nn.ReLU(), nn.Linear(512, 512), nn.ReLU(), nn.Linear(512, 256)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.MSELoss()
    inbox = queue.SimpleQueue()

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step * 128 % 2560, step * 128 % 2560 + 128)
        optimizer.zero_grad()
        loss = criterion(model(states[rows]), changes[rows])
        loss.backward()
        optimizer.step()
        optimizer.param_groups[0]["lr"] = newest(inbox, optimizer.param_groups[0]["lr"])
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
