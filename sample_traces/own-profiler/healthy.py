"""Reduce readings to a few numbers with a deep autoencoder."""

import time
from itertools import pairwise

import torch
from torch import nn

STEPS = 150


def network(*widths):
    layers = [module for pair in pairwise(widths) for module in (nn.Linear(*pair), nn.LayerNorm(pair[1]), nn.GELU())]
    return nn.Sequential(*layers[:-2])


def train(model, readings):
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-2)
    criterion = nn.MSELoss()
    for step in range(STEPS):
        batch = readings[step * 256 % 25600 :][:256]
        optimizer.zero_grad()
        loss = criterion(model(batch), batch)
        loss.backward()
        optimizer.step()
    return loss


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    readings = torch.randn(25600, 8, device=device) @ torch.randn(8, 64, device=device)
    model = network(64, 64, 64, 64, 8, 64, 64, 64, 64).to(device)

    started = time.perf_counter()
    loss = train(model, readings)
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
