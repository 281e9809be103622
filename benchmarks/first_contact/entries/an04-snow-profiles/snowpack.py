import math

import torch
from torch import nn
from torch.utils.checkpoint import checkpoint

GRAINS = 9      # PP, DF, RG, FC, DH, SH, MF, MFcr, IF


class Layer(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.before = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.between = nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, keep):
        b, n, w = x.shape
        q, k, v = self.qkv(self.before(x)).view(b, n, 3, self.heads, w // self.heads).permute(2, 0, 3, 1, 4)
        y = nn.functional.scaled_dot_product_attention(q, k, v, attn_mask=keep[:, None, None, :])
        x = x + self.drop(self.out(y.transpose(1, 2).reshape(b, n, w)))
        return x + self.drop(self.feed(self.between(x)))


class ProfileModel(nn.Module):
    """A snow profile, layer by layer from the surface down, to danger level and weakest layer."""

    def __init__(self, width=96, depth=4, heads=4, dropout=0.0, checkpointing=False):
        super().__init__()
        self.width, self.checkpointing = width, checkpointing
        self.grain = nn.Embedding(GRAINS + 1, width, padding_idx=GRAINS)
        self.measures = nn.Linear(5, width)
        self.layers = nn.ModuleList(Layer(width, heads, dropout) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.danger = nn.Linear(width, 5)
        self.weakest = nn.Linear(width, 1)

    def positions(self, n):
        table = torch.zeros(n, self.width)
        for place in range(n):
            for i in range(0, self.width, 2):
                angle = place / 10000 ** (i / self.width)
                table[place, i] = math.sin(angle)
                table[place, i + 1] = math.cos(angle)
        return table

    def forward(self, grain, measures):
        keep = grain != GRAINS
        x = self.grain(grain) + self.measures(measures) + self.positions(grain.shape[1])
        for layer in self.layers:
            if self.checkpointing and self.training:
                x = checkpoint(layer, x, keep, use_reentrant=False)
            else:
                x = layer(x, keep)
        x = self.norm(x)
        pooled = (x * keep[:, :, None]).sum(1) / keep.sum(1, keepdim=True)
        where = self.weakest(x).squeeze(2).masked_fill(~keep, -1e4)
        return self.danger(pooled), where
