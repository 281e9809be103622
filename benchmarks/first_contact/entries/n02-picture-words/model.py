import math

import torch
from torch import nn
from torch.nn import functional as F


class Attention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.query = nn.Linear(dim, dim)
        self.key_value = nn.Linear(dim, 2 * dim)
        self.out = nn.Linear(dim, dim)

    def split(self, x):
        rows, length, dim = x.shape
        return x.view(rows, length, self.heads, dim // self.heads).transpose(1, 2)

    def forward(self, x, source, causal=False):
        key, value = self.key_value(source).chunk(2, dim=-1)
        mixed = F.scaled_dot_product_attention(self.split(self.query(x)), self.split(key), self.split(value),
                                               is_causal=causal)
        return self.out(mixed.transpose(1, 2).flatten(2))


def feed_forward(dim, factor=4):
    return nn.Sequential(nn.Linear(dim, factor * dim), nn.ReLU(inplace=True), nn.Linear(factor * dim, dim))


class EncoderLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attention = Attention(dim, heads)
        self.feed = feed_forward(dim)
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x):
        h = self.norm1(x)
        x = x + self.attention(h, h)
        return x + self.feed(self.norm2(x))


class DecoderLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.attention = Attention(dim, heads)
        self.cross = Attention(dim, heads)
        self.feed = feed_forward(dim)
        self.norm1, self.norm2, self.norm3 = nn.LayerNorm(dim), nn.LayerNorm(dim), nn.LayerNorm(dim)

    def forward(self, x, memory):
        h = self.norm1(x)
        x = x + self.attention(h, h, causal=True)
        x = x + self.cross(self.norm2(x), memory)
        return x + self.feed(self.norm3(x))


class Captioner(nn.Module):
    """Region features in, words out."""

    def __init__(self, words, region_dim=256, dim=128, heads=4, encoder_layers=2, decoder_layers=2, max_length=32):
        super().__init__()
        self.region = nn.Linear(region_dim, dim)
        self.encoder = nn.ModuleList(EncoderLayer(dim, heads) for _ in range(encoder_layers))
        self.words = nn.Embedding(words, dim)
        self.places = nn.Parameter(torch.randn(max_length, dim) * 0.02)
        self.decoder = nn.ModuleList(DecoderLayer(dim, heads) for _ in range(decoder_layers))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, words)
        self.scale = math.sqrt(dim)

    def encode(self, regions):
        x = self.region(regions)
        for layer in self.encoder:
            x = layer(x)
        return x

    def decode(self, tokens, memory):
        """Scores of the word that follows each row of tokens."""
        x = self.words(tokens) * self.scale + self.places[: tokens.shape[1]]
        for layer in self.decoder:
            x = layer(x, memory)
        return self.head(self.norm(x[:, -1]))
