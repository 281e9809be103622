"""Each step makes so many calls of Python, and sleeps for so many ms. The recorder's own module is told that
there is little memory.
"""

import sys
import time

import torch

ROOM = next(module for name, module in list(sys.modules.items()) if name.endswith("child.phases.python_calls"))
CALLS, SLEEP_MS = int(sys.argv[1]), int(sys.argv[2])


def nothing() -> None:
    pass


ROOM.available_bytes = lambda: 100_000_000
layer = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for _ in range(60):
    for _ in range(CALLS):
        nothing()
    time.sleep(SLEEP_MS / 1e3)
    optimizer.zero_grad()
    layer(torch.ones(2, 4)).sum().backward()
    optimizer.step()
