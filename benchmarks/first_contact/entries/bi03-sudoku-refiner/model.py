"""A small transformer applied to the grid over and over, with one set of weights."""
import torch
from torch import nn
import torch.nn.functional as F


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm_a, self.norm_f = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.proj = nn.Linear(dim, dim)
        self.up, self.down = nn.Linear(dim, 4 * dim), nn.Linear(4 * dim, dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm_a(x)).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        x = x + self.proj(F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d))
        return x + self.down(F.relu(self.up(self.norm_f(x))))


class Refiner(nn.Module):
    def __init__(self, dim=128, heads=4, layers=2, rounds=4):
        super().__init__()
        self.rounds = rounds
        self.digit = nn.Embedding(10, dim)
        self.row, self.col, self.box = (nn.Parameter(0.02 * torch.randn(9, dim)) for _ in range(3))
        self.layers = nn.ModuleList(Layer(dim, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, 9)
        cell = torch.arange(81)
        self.register_buffer("r", cell // 9)
        self.register_buffer("c", cell % 9)
        self.register_buffer("b", cell // 27 * 3 + cell % 9 // 3)

    def forward(self, given):
        """Logits of every round during training, of the last one otherwise: (rounds, batch, 81, 9)."""
        start = self.digit(given) + (self.row[self.r] + self.col[self.c] + self.box[self.b])
        state, seen = start, []
        for _ in range(self.rounds):
            for layer in self.layers:
                state = layer(state)
            seen.append(state)
            state = state + start
        if not self.training:
            seen = seen[-1:]
        return self.head(self.norm(torch.stack(seen)))
