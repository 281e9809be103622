"""A loop to hold the recorder against: `loop.py launches` starts many short kernels a step, `loop.py compute` a few long ones.

Prints the microseconds of a step, by the GPU's own clock where there is one.
"""

import sys
import time

import torch
from torch import nn

KIND = sys.argv[1]
CUDA = torch.cuda.is_available()
WARM_UP, STEPS = 20, {("launches", True): 300, ("compute", True): 60}.get((KIND, CUDA), 100)
WIDTH, LAYERS, BATCH = {
    ("launches", True): (256, 60, 64),
    ("compute", True): (8192, 4, 8192),
    ("launches", False): (64, 40, 16),
    ("compute", False): (256, 3, 128),
}[KIND, CUDA]


def mark():
    """An instant: of the GPU, when it has come so far, else of the host."""
    if not CUDA:
        return time.perf_counter()
    event = torch.cuda.Event(enable_timing=True)
    event.record()
    return event


def microseconds(before, after):
    return 1e3 * before.elapsed_time(after) if CUDA else 1e6 * (after - before)


def main():
    torch.manual_seed(0)
    torch.set_float32_matmul_precision("high")
    device = "cuda" if CUDA else "cpu"
    readings = torch.randn(BATCH, WIDTH, device=device)
    model = nn.Sequential(*(nn.Sequential(nn.Linear(WIDTH, WIDTH), nn.ReLU()) for _ in range(LAYERS))).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=1e-4)
    for step in range(WARM_UP + STEPS):
        if step == WARM_UP:
            started = mark()
        optimizer.zero_grad()
        model(readings).square().mean().backward()
        optimizer.step()
    ended = mark()
    if CUDA:
        torch.cuda.synchronize()
    print(microseconds(started, ended) / STEPS)


if __name__ == "__main__":
    main()
