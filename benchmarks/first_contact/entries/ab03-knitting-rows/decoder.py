import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1 = nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim, bias=False)
        self.out = nn.Linear(dim, dim, bias=False)
        self.norm2 = nn.LayerNorm(dim)
        self.wide = nn.Linear(dim, 4 * dim)
        self.narrow = nn.Linear(4 * dim, dim)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.out(mixed.transpose(1, 2).reshape(b, t, d))
        return x + self.narrow(F.relu(self.wide(self.norm2(x)), inplace=True))


class PatternDecoder(nn.Module):
    def __init__(self, symbols, context, dim=256, heads=4, depth=3):
        super().__init__()
        self.context = context
        self.token = nn.Embedding(symbols, dim)
        self.place = nn.Parameter(0.02 * torch.randn(context, dim))
        self.blocks = nn.Sequential(*[Block(dim, heads) for _ in range(depth)])
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, symbols)
        nn.init.normal_(self.token.weight, std=0.02)

    def forward(self, tokens):
        x = self.token(tokens) + self.place[: tokens.shape[1]]
        return self.head(self.norm(self.blocks(x)))

    @torch.inference_mode()
    def write(self, tokens, length, temperature=0.8):
        for _ in range(length):
            logits = self(tokens[:, -self.context:])[:, -1] / temperature
            tokens = torch.cat([tokens, torch.multinomial(logits.softmax(-1), 1)], dim=1)
        return tokens
