import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, dim, heads, dim_ff):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.proj = nn.Linear(dim, dim)
        self.norm2 = nn.LayerNorm(dim)
        self.ff = nn.Sequential(nn.Linear(dim, dim_ff), nn.ReLU(inplace=True), nn.Linear(dim_ff, dim))

    def forward(self, x, mask):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4).unbind(0)
        a = F.scaled_dot_product_attention(q, k, v, attn_mask=mask)
        x = x + self.proj(a.transpose(1, 2).reshape(b, n, d))
        return x + self.ff(self.norm2(x))


class ClauseClassifier(nn.Module):
    def __init__(self, vocab, n_labels, dim=192, depth=4, heads=3, dim_ff=768, max_length=256):
        super().__init__()
        self.embed = nn.Embedding(vocab, dim)
        self.position = nn.Parameter(torch.zeros(max_length, dim))
        self.blocks = nn.ModuleList(Block(dim, heads, dim_ff) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.dropout = nn.Dropout(0.1)
        self.head = nn.Linear(dim, n_labels)
        nn.init.normal_(self.embed.weight, std=0.02)
        nn.init.normal_(self.position, std=0.02)

    def forward(self, tokens):
        mask = (tokens != 0)[:, None, None, :]
        x = self.embed(tokens) + self.position[: tokens.size(1)]
        for block in self.blocks:
            x = block(x, mask)
        return self.head(self.dropout(self.norm(x[:, 0])))
