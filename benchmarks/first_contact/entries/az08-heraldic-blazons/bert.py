import torch
from torch import nn


class EncoderLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1 = nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.norm2 = nn.LayerNorm(dim)
        self.feed = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, pad):
        h = self.norm1(x)
        x = x + self.attention(h, h, h, key_padding_mask=pad)[0]
        return x + self.feed(self.norm2(x))


class Bert(nn.Module):
    def __init__(self, words, max_len, dim=128, heads=4, layers=3):
        super().__init__()
        self.token = nn.Embedding(words, dim, padding_idx=0)
        self.position = nn.Embedding(max_len, dim)
        self.layers = nn.ModuleList(EncoderLayer(dim, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)

    def forward(self, tokens):
        pad = tokens == 0
        at = torch.arange(tokens.size(1), device=tokens.device)
        x = self.token(tokens) + self.position(at)
        for layer in self.layers:
            x = layer(x, pad)
        return self.norm(x)


class MaskedLanguageModel(nn.Module):
    def __init__(self, bert, words, dim=128):
        super().__init__()
        self.bert = bert
        self.transform = nn.Sequential(nn.Linear(dim, dim), nn.GELU(), nn.LayerNorm(dim))
        self.decoder = nn.Linear(dim, words)

    def forward(self, tokens):
        return self.decoder(self.transform(self.bert(tokens)))
