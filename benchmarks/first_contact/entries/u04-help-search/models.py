"""Two networks: one places texts in a space, one judges pairs of question and article."""
import torch
from torch import nn
import torch.nn.functional as F


class Tokenizer:
    def __init__(self, words):
        self.numbers = {word: number for number, word in enumerate(words, start=2)}

    def __len__(self):
        return len(self.numbers) + 2

    def encode(self, words, length):
        found = [self.numbers.get(word, 1) for word in words[:length]]
        return found + [0] * (length - len(found))


class TextEncoder(nn.Module):
    def __init__(self, vocabulary, dim=128):
        super().__init__()
        self.words = nn.EmbeddingBag(vocabulary, dim, mode="mean", padding_idx=0)
        self.project = nn.Linear(dim, dim)

    def forward(self, tokens):
        return self.project(self.words(tokens))


class Layer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        n, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(n, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(mixed.transpose(1, 2).reshape(n, length, width))
        return x + self.down(F.relu(self.up(self.norm2(x))))


class PairJudge(nn.Module):
    """Scores the tokens of a question followed by those of an article."""

    def __init__(self, vocabulary, width=96, layers=2, heads=4, length=22):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width)
        self.place = nn.Parameter(torch.randn(length, width) * 0.02)
        self.layers = nn.Sequential(*[Layer(width, heads) for _ in range(layers)])
        self.score = nn.Linear(width, 1)

    def forward(self, tokens):
        x = self.layers(self.words(tokens) + self.place)
        return self.score(x.mean(dim=1)).squeeze(-1)
