"""Learn how a system of many variables moves, by following it for 14 moves at a time."""

import time

import torch
from torch import nn

STEPS = 120
MOVES = 14


def follow(model, state):
    path = state.unsqueeze(0)
    for _ in range(MOVES - 1):
        state = state + 0.1 * model(state)
        path = torch.cat([path, state.unsqueeze(0)])
    return path


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    rotation = torch.linalg.matrix_exp(0.1 * (lambda m: m - m.T)(torch.randn(16, 16, device=device) / 4))
    states = [torch.randn(65536, 16, device=device)]
    for _ in range(MOVES - 1):
        states.append(states[-1] @ rotation)
    paths = torch.stack(states)
    model = nn.Linear(16, 16, bias=False).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.05, momentum=0.9)
    criterion = nn.MSELoss()

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step * 8192 % 65536, step * 8192 % 65536 + 8192)
        optimizer.zero_grad()
        loss = criterion(follow(model, paths[0, rows]), paths[:, rows])
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
