import math

import torch
from torch import nn
from torch.nn import functional as F

from data import CONTROLLERS, FAULTS, NUMERIC, PANELS


def sinusoids(length, width):
    position = torch.arange(length).unsqueeze(1)
    rate = torch.exp(torch.arange(0, width, 2) * (-math.log(10000.0) / width))
    table = torch.zeros(length, width)
    table[:, 0::2] = torch.sin(position * rate)
    table[:, 1::2] = torch.cos(position * rate)
    return table


class Block(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(width)
        self.mlp = nn.Sequential(nn.Linear(width, 2 * width), nn.GELU(), nn.Linear(2 * width, width))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, padding):
        h = self.norm1(x)
        h, _ = self.attention(h, h, h, key_padding_mask=padding)
        x = x + self.drop(h)
        return x + self.drop(self.mlp(self.norm2(x)))


class MasterData(nn.Module):
    """What is known of the installation before the door moves."""

    def __init__(self, buckets, width):
        super().__init__()
        self.unit = nn.Embedding(buckets, 24)
        self.panel = nn.Embedding(len(PANELS), 4)
        self.controller = nn.Embedding(len(CONTROLLERS), 4)
        self.out = nn.Linear(24 + 4 + 4 + len(NUMERIC), width)
        nn.init.normal_(self.unit.weight, std=0.02)

    def forward(self, batch):
        parts = [
            self.unit(batch["unit"]),
            self.panel(batch["panel"]),
            self.controller(batch["controller"]),
            batch["numeric"],
        ]
        return F.gelu(self.out(torch.cat(parts, dim=1)))


class DoorNet(nn.Module):
    stride = 4

    def __init__(self, buckets, width=48, heads=4, depth=1, dropout=0.1, longest=640):
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv1d(6, width // 2, 8, stride=2, padding=3), nn.GELU(),
            nn.Conv1d(width // 2, width, 4, stride=2, padding=1), nn.GELU(),
        )
        self.register_buffer("position", 0.1 * sinusoids(longest // self.stride, width), persistent=False)
        self.blocks = nn.ModuleList(Block(width, heads, dropout) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.master = MasterData(buckets, width)
        self.trunk = nn.Sequential(nn.Linear(2 * width, width), nn.GELU(), nn.Dropout(dropout))
        self.fault = nn.Linear(width, len(FAULTS))
        self.wear = nn.Linear(width, 1)

    def forward(self, batch):
        x = self.stem(batch["signal"]).transpose(1, 2)
        steps = x.shape[1]
        x = x + self.position[:steps]
        padding = torch.arange(steps, device=x.device) >= batch["tokens"].unsqueeze(1)
        for block in self.blocks:
            x = block(x, padding)
        keep = (~padding).unsqueeze(2).to(x.dtype)
        pooled = (self.norm(x) * keep).sum(1) / keep.sum(1)
        h = self.trunk(torch.cat([pooled, self.master(batch)], dim=1))
        return self.fault(h), torch.sigmoid(self.wear(h)).squeeze(1)
