"""Inference without no_grad on a model whose convolution bias is useless."""

import atexit
import sys

import torch
from torch import nn
from torch.nn import functional as F

torch.set_num_threads(1)
atexit.register(lambda: print("compiler imported:", "torch._dynamo" in sys.modules))


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.norm = nn.BatchNorm2d(4)
        self.conv = nn.Conv2d(3, 4, 3)
        self.other = nn.Conv2d(4, 4, 3)

    def forward(self, x):
        return self.other(F.relu(self.norm(self.conv(x))))


model = Net().eval()
for _ in range(500):
    out = model(torch.ones(2, 3, 8, 8))
print("done")
