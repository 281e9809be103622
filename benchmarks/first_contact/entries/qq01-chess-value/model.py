import torch
from torch import nn

from features import NUM_FEATURES


class NNUE(nn.Module):
    def __init__(self, l1=128, l2=32, l3=32):
        super().__init__()
        self.transformer = nn.EmbeddingBag(NUM_FEATURES, l1, mode="sum")
        self.bias = nn.Parameter(torch.zeros(l1))
        self.fc1 = nn.Linear(2 * l1, l2)
        self.fc2 = nn.Linear(l2, l3)
        self.out = nn.Linear(l3, 1)
        nn.init.uniform_(self.transformer.weight, -0.05, 0.05)

    def forward(self, white, black, offsets, stm):
        w = self.transformer(white, offsets) + self.bias
        b = self.transformer(black, offsets) + self.bias
        accumulator = stm * torch.cat([w, b], 1) + (1 - stm) * torch.cat([b, w], 1)
        x = accumulator.clamp(0.0, 1.0)
        x = self.fc1(x).clamp(0.0, 1.0)
        x = self.fc2(x).clamp(0.0, 1.0)
        return self.out(x)


class WeightClipper:
    """Keeps the dense layers inside the range of the int8 engine."""

    def __init__(self, model, limit=127 / 64):
        self.layers = [model.fc1, model.fc2]
        self.limit = limit

    @torch.no_grad()
    def __call__(self):
        for layer in self.layers:
            layer.weight.clamp_(-self.limit, self.limit)
