"""Fit a surface to scattered points with a network of radial basis functions."""

import time

import torch
from torch import nn

STEPS = 150


class RadialBasis(nn.Module):
    def __init__(self, inputs, centres):
        super().__init__()
        self.centres = nn.Parameter(torch.rand(centres, inputs))
        self.head = nn.Linear(centres, 1)

    def forward(self, points):
        repeated = points.unsqueeze(1).repeat(1, len(self.centres), 1)
        distances = (repeated - self.centres).square().sum(dim=2)
        return self.head(torch.exp(-4 * distances))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    points = torch.rand(7680, 8, device=device)
    heights = (6 * points).sin().sum(dim=1, keepdim=True)
    model = RadialBasis(inputs=8, centres=384).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    criterion = nn.MSELoss()

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step * 256 % 7680, step * 256 % 7680 + 256)
        optimizer.zero_grad()
        loss = criterion(model(points[rows]), heights[rows])
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
