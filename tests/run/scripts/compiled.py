"""torch.compile with a backend that counts its graphs."""

import torch
from torch import nn

torch.set_num_threads(1)
torch.manual_seed(0)

graphs = []


def counting(graph, inputs):
    graphs.append(graph)
    return graph.forward


class Net(nn.Module):
    def __init__(self):
        super().__init__()
        self.first, self.second = nn.Linear(8, 8), nn.Linear(8, 1)

    def forward(self, x):
        x = self.first(x).relu()
        if x.sum().item() > -1:
            x = x.to(torch.float32) + 1
        return self.second(x)


model = Net()
compiled = torch.compile(model, backend=counting)
optimizer = torch.optim.Adam(model.parameters())
for number in range(120):
    loss = compiled(torch.randn(4 if number % 2 else 6, 8)).square().mean()
    loss.backward()
    optimizer.step()
    optimizer.zero_grad()
with torch.no_grad():
    for number in range(4):
        compiled(torch.randn(4, 8))
print(len(graphs), torch._dynamo.utils.counters["frames"]["total"], f"{loss.item():.9f}")
