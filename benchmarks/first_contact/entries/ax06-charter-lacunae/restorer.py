import torch
from torch import nn
from torch.nn import functional as F

from charters import PAD


class ScribeLayer(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.attention = nn.MultiheadAttention(width, heads, batch_first=True)
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.feed = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x, padding):
        y = self.norm1(x)
        y, _ = self.attention(y, y, y, key_padding_mask=padding)
        x = x + y
        return x + self.feed(self.norm2(x))


class Restorer(nn.Module):
    def __init__(self, vocabulary, longest, width=128, heads=8, depth=3):
        super().__init__()
        self.words = nn.Embedding(vocabulary, width, padding_idx=PAD)
        self.places = nn.Embedding(longest, width)
        self.layers = nn.ModuleList(ScribeLayer(width, heads) for _ in range(depth))
        self.transform = nn.Sequential(nn.Linear(width, width), nn.GELU(), nn.LayerNorm(width))
        self.bias = nn.Parameter(torch.zeros(vocabulary))
        nn.init.normal_(self.words.weight, std=0.02)
        nn.init.normal_(self.places.weight, std=0.02)

    def encode(self, tokens):
        padding = tokens == PAD
        places = torch.arange(tokens.shape[1], device=tokens.device)
        x = self.words(tokens) + self.places(places)
        for layer in self.layers:
            x = layer(x, padding)
        return x

    def forward(self, tokens):
        x = self.transform(self.encode(tokens))
        return F.linear(x, self.words.weight, self.bias)


class SmoothedLoss(nn.Module):
    def __init__(self, vocabulary, smoothing=0.1):
        super().__init__()
        self.vocabulary, self.smoothing = vocabulary, smoothing
        self.criterion = nn.KLDivLoss(reduction="sum")

    def forward(self, logits, labels):
        scores = F.log_softmax(logits, dim=-1)
        wanted = torch.full_like(scores, self.smoothing / (self.vocabulary - 1)).detach()
        wanted.scatter_(1, labels.unsqueeze(1), 1.0 - self.smoothing)
        return self.criterion(scores, wanted) / len(labels)
