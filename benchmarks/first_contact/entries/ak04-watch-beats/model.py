"""A transformer that reads a watch: slices of the envelope next to the envelope folded at known periods."""
import torch
import torch.nn.functional as F
from torch import nn


class FoldBank(nn.Module):
    """Average of an excerpt over all turns of each candidate period.

    Folding is linear in the signal, so the whole bank is one fixed matrix: frame t falls between two
    neighbouring bins of the period's circle and is shared between them.
    """

    def __init__(self, frames, periods, bins):
        super().__init__()
        self.bins = bins
        matrix = torch.zeros(frames, len(periods), bins)
        time = torch.arange(frames)
        for k, period in enumerate(periods):
            place = (time % period) / period * bins
            left = place.long() % bins
            share = (place - place.floor()).float()
            matrix[time, k, left] += 1 - share
            matrix[time, k, (left + 1) % bins] += share
        matrix /= matrix.sum(0, keepdim=True)
        self.register_buffer("matrix", matrix.flatten(1), persistent=False)

    def forward(self, x):                                      # (batch, bands, frames)
        batch, bands, _ = x.shape
        folded = (x @ self.matrix).view(batch, bands, -1, self.bins)
        return folded.transpose(1, 2).flatten(2)               # (batch, periods, bands * bins)


class Attention(nn.Module):
    """Self-attention whose heads forget with distance; the folded tokens are equally near to everything."""

    def __init__(self, width, heads, slices, extra):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width, bias=False)
        self.out = nn.Linear(width, width, bias=False)
        place = torch.arange(slices)
        slopes = torch.logspace(0, -3, heads, base=2.0)
        bias = torch.zeros(heads, slices + extra, slices + extra)
        bias[:, :slices, :slices] = -slopes[:, None, None] * (place[:, None] - place).abs()
        self.register_buffer("bias", bias, persistent=False)

    def forward(self, x):
        batch, length, width = x.shape
        qkv = self.qkv(x).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(*qkv.unbind(0), attn_mask=self.bias)
        return self.out(mixed.transpose(1, 2).reshape(batch, length, width))


class Block(nn.Module):
    def __init__(self, width, heads, slices, extra):
        super().__init__()
        self.before_mix = nn.LayerNorm(width)
        self.mix = Attention(width, heads, slices, extra)
        self.before_think = nn.LayerNorm(width)
        self.think = nn.Sequential(nn.Linear(width, 3 * width), nn.GELU(), nn.Linear(3 * width, width))

    def forward(self, x):
        x = x + self.mix(self.before_mix(x))
        return x + self.think(self.before_think(x))


class Watcher(nn.Module):
    """Slices and folds become tokens; learned questions read the answers off them.

    The phase is answered once for every candidate period and mixed by the belief in each.
    """

    def __init__(self, periods, bands=4, frames=2048, width=96, heads=3, depth=3, piece=64, bins=64):
        super().__init__()
        slices, kinds = frames // piece, len(periods)
        self.piece, self.heads = piece, heads
        self.fold = FoldBank(frames, periods, bins)
        self.slice_in = nn.Linear(bands * piece, width)
        self.fold_in = nn.Linear(bands * bins, width)
        self.place = nn.Parameter(0.02 * torch.randn(slices + kinds, width))
        self.blocks = nn.ModuleList(Block(width, heads, slices, kinds) for _ in range(depth))
        self.norm = nn.LayerNorm(width)
        self.questions = nn.Parameter(torch.randn(3, width) / width ** 0.5)
        self.key_value = nn.Linear(width, 2 * width)
        self.kind = nn.Linear(width, kinds)
        self.gauges = nn.Linear(width, 4)                      # mean and log spread of amplitude, beat error
        self.hand = nn.Linear(width, 2)
        self.slices = slices

    def tokens(self, x):
        batch, bands, frames = x.shape
        pieces = x.view(batch, bands, self.slices, self.piece).transpose(1, 2).flatten(2)
        return torch.cat([self.slice_in(pieces), self.fold_in(self.fold(x))], dim=1) + self.place

    def ask(self, x):
        batch, length, width = x.shape
        key, value = self.key_value(x).view(batch, length, 2, self.heads, -1).permute(2, 0, 3, 1, 4).unbind(0)
        query = self.questions.view(1, 3, self.heads, -1).transpose(1, 2).expand(batch, -1, -1, -1)
        return F.scaled_dot_product_attention(query, key, value).transpose(1, 2).reshape(batch, 3, width)

    def forward(self, x):
        x = self.tokens(x)
        for block in self.blocks:
            x = block(x)
        x = self.norm(x)
        answers = self.ask(x)
        kind = self.kind(answers[:, 0])
        hands = self.hand(x[:, self.slices:] + answers[:, 2:])                 # one hand for each period
        hand = (kind.softmax(1).unsqueeze(2) * hands).sum(1)
        mean, spread = self.gauges(answers[:, 1]).chunk(2, dim=1)
        return kind, mean, spread, F.normalize(hand, dim=1)
