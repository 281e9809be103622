import torch
import torch.nn.functional as F
from torch import nn


class Reach(nn.Module):
    """Mixes every pound with the one above and the one below it."""

    def __init__(self, width):
        super().__init__()
        self.mix = nn.Linear(3 * width, width)
        self.out = nn.Linear(width, width)

    def forward(self, h):
        padded = F.pad(h, (0, 0, 1, 1))
        around = torch.cat([padded[:, :-2], h, padded[:, 2:]], dim=-1)
        return h + self.out(F.gelu(self.mix(around)))


class PoundSimulator(nn.Module):
    """Steps all levels forward by a quarter of an hour; its own output is its next input."""

    def __init__(self, pounds, forcing=7, memory=6, width=32, depth=2):
        super().__init__()
        self.pound = nn.Parameter(0.1 * torch.randn(pounds, width))
        self.drive = nn.Linear(forcing, width)
        self.recall = nn.Linear(memory, width)
        self.carry = nn.GRUCell(width, width)
        self.reaches = nn.ModuleList(Reach(width) for _ in range(depth))
        self.change = nn.Linear(width, 1)
        nn.init.zeros_(self.change.weight)
        nn.init.zeros_(self.change.bias)

    def forward(self, past, forcing):
        """past: batch, memory, pounds; forcing: batch, horizon, pounds, features."""
        driven = (self.drive(forcing) + self.pound).unbind(1)
        recent = past.transpose(1, 2)
        level = recent[..., -1]
        batch, pounds = level.shape
        state = self.pound.expand(batch, -1, -1).reshape(batch * pounds, -1)
        levels = []
        for drive in driven:
            h = self.recall(recent) + drive
            for reach in self.reaches:
                h = reach(h)
            state = self.carry(h.flatten(0, 1), state)
            level = level + self.change(state).view(batch, pounds)
            recent = torch.cat([recent[..., 1:], level.unsqueeze(-1)], dim=-1)
            levels.append(level)
        return torch.stack(levels, dim=1)
