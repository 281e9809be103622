import torch
from torch import nn


class Block(nn.Module):
    def __init__(self, history, horizon, width, depth):
        super().__init__()
        layers = []
        for i in range(depth):
            layers += [nn.Linear(history if i == 0 else width, width), nn.ReLU()]
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(width, history + horizon)
        self.sizes = [history, horizon]

    def forward(self, x):
        return self.head(self.body(x)).split(self.sizes, dim=1)


class NBeats(nn.Module):
    """Doubly residual stack of generic blocks (Oreshkin et al., 2020)."""

    def __init__(self, history, horizon, blocks=6, width=384, depth=3):
        super().__init__()
        self.blocks = nn.ModuleList(Block(history, horizon, width, depth) for _ in range(blocks))

    def forward(self, past):
        forecast = 0
        for block in self.blocks:
            backcast, step = block(past)
            past = past - backcast
            forecast = forecast + step
        return forecast
