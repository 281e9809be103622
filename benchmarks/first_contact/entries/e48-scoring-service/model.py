import torch
import torch.nn as nn
import torch.nn.functional as F


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x, mask):
        b, t, c = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, c // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, c))
        return x + self.down(F.relu_(self.up(self.norm2(x))))


class Scorer(nn.Module):
    """Urgency of a message between 0 and 1."""

    def __init__(self, vocab=5000, dim=160, heads=5, layers=4, longest=128):
        super().__init__()
        self.words = nn.Embedding(vocab, dim)
        self.places = nn.Parameter(0.02 * torch.randn(longest, dim))
        self.layers = nn.ModuleList(Layer(dim, heads) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, 1)

    def forward(self, words, lengths):
        t = words.shape[1]
        real = torch.arange(t) < lengths.unsqueeze(1)
        mask = None if real.all() else real[:, None, None, :]
        x = self.words(words) + self.places[:t]
        for layer in self.layers:
            x = layer(x, mask)
        pooled = (x * real.unsqueeze(-1)).sum(1) / lengths.unsqueeze(1)
        return torch.sigmoid(self.head(self.norm(pooled))).squeeze(1)
