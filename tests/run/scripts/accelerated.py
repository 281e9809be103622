"""A training loop with Hugging Face Accelerate: python accelerated.py steps."""

import os
import sys

import accelerate
import torch
from torch import nn
from torch.utils.data import DataLoader

torch.set_num_threads(1)
torch.manual_seed(0)

accelerator = accelerate.Accelerator(cpu=True)
model = nn.Linear(16, 4)
optimizer = torch.optim.SGD(model.parameters(), lr=0.001)
loader = DataLoader(torch.ones(8 * accelerator.num_processes * int(sys.argv[1]), 16), batch_size=8)
model, optimizer, loader = accelerator.prepare(model, optimizer, loader)
for x in loader:
    optimizer.zero_grad()
    accelerator.backward(model(x).square().mean())
    optimizer.step()
os.write(1, f"rank {accelerator.process_index} of {accelerator.num_processes} ends\n".encode())
accelerator.end_training()
