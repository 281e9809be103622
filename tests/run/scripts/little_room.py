"""Each step calls a layer a thousand times. There is room for the recordings while the script warms up, and for
no other; the recorder's own module is told so.
"""

import sys

import torch

ROOM = next(module for name, module in list(sys.modules.items()) if name.endswith("child.phases.room"))
STEPS, SHORT_FROM = 40, int(sys.argv[1])

layer = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for step in range(STEPS):
    if step == SHORT_FROM:
        ROOM.available_bytes = lambda: 8 << 20
    x = torch.ones(2, 4)
    for _ in range(1000):
        x = layer(x)
    optimizer.zero_grad()
    x.sum().backward()
    optimizer.step()
print("steps:", STEPS)
