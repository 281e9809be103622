"""A loop to hold the recorder against: `loop.py launches` starts many short kernels a step, `loop.py compute` a few long ones.

Prints the microseconds of a step, the same for all steps but the first ones.
"""

import sys
import time

import torch
from torch import nn

KIND = sys.argv[1]
CUDA = torch.cuda.is_available()
WARM_UP, STEPS = 20, 300 if CUDA else 100
WIDTH, LAYERS, BATCH = {
    ("launches", True): (256, 60, 64),
    ("compute", True): (8192, 4, 8192),
    ("launches", False): (64, 40, 16),
    ("compute", False): (256, 3, 128),
}[KIND, CUDA]


def finished():
    """The host's clock when the GPU is through as well."""
    if CUDA:
        torch.cuda.synchronize()
    return time.perf_counter()


def main():
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    device = "cuda" if CUDA else "cpu"
    readings = torch.randn(BATCH, WIDTH, device=device)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(LAYERS))).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for step in range(WARM_UP + STEPS):
        if step == WARM_UP:
            started = finished()
        optimizer.zero_grad()
        model(readings).square().mean().backward()
        optimizer.step()
    print(1e6 * (finished() - started) / STEPS)


if __name__ == "__main__":
    main()
