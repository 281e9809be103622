"""Learn to multiply small matrices."""

import time

import torch
from torch import nn

STEPS = 400


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    factors = torch.randn(7680, 2, 8, 8, device=device)
    products = (factors[:, 0] @ factors[:, 1]).flatten(1)
    layers = [nn.Linear(128, 512), nn.GELU(), nn.Linear(512, 512), nn.GELU(), nn.Linear(512, 64)]
    model = nn.Sequential(nn.Flatten(), *layers).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.MSELoss()

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step * 384 % 7680, step * 384 % 7680 + 384)
        optimizer.zero_grad()
        loss = criterion(model(factors[rows]), products[rows])
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
