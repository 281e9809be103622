import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.norm2 = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 4 * dim)
        self.down = nn.Linear(4 * dim, dim)

    def forward(self, x):
        batch, length, dim = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(mixed.transpose(1, 2).reshape(batch, length, dim))
        return x + self.down(F.relu(self.up(self.norm2(x))))


class SpanEncoder(nn.Module):
    def __init__(self, vocabulary, span, dim, layers, heads):
        super().__init__()
        self.token = nn.Embedding(vocabulary, dim)
        self.position = nn.Parameter(torch.randn(span, dim) * 0.02)
        self.blocks = nn.ModuleList(Block(dim, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.project = nn.Linear(dim, dim)
        nn.init.normal_(self.token.weight, std=0.02)

    def forward(self, tokens):
        x = self.token(tokens) + self.position
        for block in self.blocks:
            x = block(x)
        return F.normalize(self.project(self.norm(x).mean(dim=1)), dim=-1)


class InfoNCE(nn.Module):
    def __init__(self, temperature=0.07):
        super().__init__()
        self.log_scale = nn.Parameter(torch.tensor(1.0 / temperature).log())

    def forward(self, left, right):
        logits = self.log_scale.exp().clamp(max=100) * left @ right.T
        target = torch.arange(len(left))
        loss = 0.5 * (F.cross_entropy(logits, target) + F.cross_entropy(logits.T, target))
        return loss, (logits.argmax(dim=1) == target).float().mean()
