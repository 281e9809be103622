"""Trains on stubbed GPUs, in the way that is asked for: `on_gpu.py HOW STEPS`."""

import os
import sys

import fake_accelerator as gpu
import torch
from torch import nn

HOW, STEPS = sys.argv[1], int(sys.argv[2])
KERNEL_MS = 4.0


def model() -> nn.Module:
    return nn.Sequential(nn.Linear(4, 8), nn.Tanh(), nn.Linear(8, 1))


def step(net: nn.Module, optimizer: torch.optim.Optimizer, device: int | None) -> None:
    net(torch.ones(16, 4)).square().mean().backward()
    optimizer.step()
    optimizer.zero_grad()
    if device is not None:
        gpu.launch(KERNEL_MS / 2, device)
        gpu.launch(KERNEL_MS / 2, device)


def train(device: int | None, *, counted: bool = False) -> None:
    net = model()
    if device is not None:
        gpu.use(device)
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    steps = torch.utils.data.DataLoader(list(range(STEPS))) if counted else range(STEPS)
    for _ in steps:
        step(net, optimizer, device)


if HOW == "counted":  # so many steps as a loader tells, on the GPU that is not the current one
    train(1, counted=True)
elif HOW == "uncounted":  # and the model is tried out on the CPU before it moves to the GPU
    model()(torch.ones(1, 4))
    train(0)
elif HOW == "cpu":
    model()(torch.ones(1, 4))
    train(None)
    child = os.fork()
    if not child:
        train(0)
        os._exit(0)
    assert os.waitpid(child, 0)[1] == 0
elif HOW == "captured":
    net = model()
    gpu.use()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(3):
        step(net, optimizer, 0)
    with gpu.capture() as graph:
        step(net, optimizer, None)
    for _ in range(STEPS):
        graph.replay()
elif HOW == "recaptured":
    net = model()
    gpu.use()
    optimizer = torch.optim.SGD(net.parameters(), lr=0.01)
    for _ in range(STEPS):
        step(net, optimizer, 0)
        with gpu.capture() as graph:
            step(net, optimizer, None)
elif HOW == "both":
    gpu.use(0, 500)
    train(1)
