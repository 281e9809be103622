import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(width)
        self.attn = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 3 * width)
        self.down = nn.Linear(3 * width, width)

    def forward(self, x):
        y = self.norm1(x)
        y, _ = self.attn(y, y, y)
        x = x + y
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class TourModel(nn.Module):
    """Predicts the seconds spent at every stop of a picking tour and the zone of the next one."""

    def __init__(self, cfg):
        super().__init__()
        self.slot = nn.Embedding(cfg.slots, cfg.width)
        self.pieces = nn.Linear(1, cfg.width)
        self.place = nn.Parameter(torch.randn(cfg.stops, cfg.width) * 0.02)
        self.blocks = nn.ModuleList(Block(cfg.width, cfg.heads) for _ in range(cfg.blocks))
        self.norm = nn.LayerNorm(cfg.width)
        self.seconds = nn.Linear(cfg.width, 2)
        self.zone = nn.Linear(cfg.width, cfg.zones)

    def forward(self, slots, pieces):
        x = self.slot(slots) + self.pieces(pieces.unsqueeze(-1).log1p()) + self.place
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        mean, spread = self.seconds(x).unbind(-1)
        return mean, F.softplus(spread) + 1e-2, self.zone(x)
