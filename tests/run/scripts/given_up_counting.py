"""Each step calls a layer some hundred times. From the third on there is no room for the recording in progress,
while calls of Python are counted; the recorder's own modules are told so. The last line says whether a profiler
is still on.
"""

import sys

import torch

MODULES = {name.rpartition("child.phases.")[2]: module for name, module in list(sys.modules.items())}
MODULES["python_calls"].available_bytes = lambda: 1_000
layer = torch.nn.Linear(4, 4)
optimizer = torch.optim.SGD(layer.parameters(), lr=0.1)
for step in range(20):
    if step == 2:
        print("counting:", sys.getprofile() is not None)
        MODULES["room"].Room.is_short = lambda room: True
    x = torch.ones(2, 4)
    for _ in range(200):
        x = layer(x)
    optimizer.zero_grad()
    x.sum().backward()
    optimizer.step()
print("profiler at the end:", sys.getprofile())
