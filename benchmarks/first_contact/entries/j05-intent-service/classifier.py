import torch
from torch import nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv, self.proj = nn.Linear(dim, 3 * dim), nn.Linear(dim, dim)
        self.ff = nn.Sequential(nn.Linear(dim, 4 * dim), nn.GELU(), nn.Linear(4 * dim, dim))

    def forward(self, x, keep):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=keep)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.ff(self.norm2(x))


class IntentModel(nn.Module):
    def __init__(self, vocab, n_intents, dim=96, heads=4, depth=3, max_length=128):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim, padding_idx=0)
        self.position = nn.Parameter(torch.randn(max_length, dim) * 0.02)
        self.blocks = nn.ModuleList([Block(dim, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.intent = nn.Linear(dim, n_intents)
        self.urgency = nn.Linear(dim, 1)

    def forward(self, tokens, padding):
        x = self.embed(tokens) + self.position[:tokens.shape[1]]
        keep = ~padding[:, None, None, :]
        for block in self.blocks:
            x = block(x, keep)
        first = self.norm(x[:, 0])
        return self.intent(first), self.urgency(first).squeeze(1)
