"""Inference with a compiled model and a backend that counts its graphs."""

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)
graphs = []


def counting(graph, inputs):
    graphs.append(graph)
    return graph.forward


model = torch.compile(nn.Sequential(nn.Linear(8, 8), nn.ReLU(), nn.Linear(8, 1)), backend=counting)
with torch.no_grad():
    for _ in range(120):
        out = model(torch.randn(4, 8)).to(torch.float32)
        out.sum().item()
print(len(graphs), torch._dynamo.utils.counters["frames"]["total"])
