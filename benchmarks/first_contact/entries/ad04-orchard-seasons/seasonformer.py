import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, dim, heads, ffn):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.merge = nn.Linear(dim, dim)
        self.norm2 = nn.LayerNorm(dim)
        self.ffn = nn.Sequential(nn.Linear(dim, ffn), nn.ReLU(inplace=True), nn.Linear(ffn, dim))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        attended = F.scaled_dot_product_attention(q, k, v)
        x = x + self.merge(attended.transpose(1, 2).reshape(b, t, d))
        return x + self.ffn(self.norm2(x))


class SeasonFormer(nn.Module):
    """Transformer over the dates of a pixel; the mean of the dates is classified."""

    def __init__(self, bands, dates, kinds, dim=256, heads=4, ffn=1024, layers=2):
        super().__init__()
        self.embed = nn.Linear(bands, dim)
        self.dates = nn.Parameter(0.02 * torch.randn(dates, dim))
        self.blocks = nn.Sequential(*(Block(dim, heads, ffn) for _ in range(layers)))
        self.norm = nn.LayerNorm(dim)
        self.out = nn.Linear(dim, kinds)

    def forward(self, x):
        h = self.blocks(self.embed(x) + self.dates)
        return self.out(self.norm(h).mean(dim=1))
