"""Deep biaffine parser (Dozat & Manning) over a small transformer encoder."""
import torch
import torch.nn.functional as F
from torch import nn

from treebank import NUM_LABELS, NUM_TAGS, NUM_WORDS, PAD


class EncoderLayer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))

    def forward(self, x, allowed):
        b, n, d = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=allowed)
        x = x + self.out(y.transpose(1, 2).reshape(b, n, d))
        return x + self.mlp(self.norm2(x))


class Biaffine(nn.Module):
    """Scores of all pairs of positions: [batch, out, dependent, head]."""

    def __init__(self, dim, out=1):
        super().__init__()
        self.out = out
        self.weight = nn.Parameter(torch.zeros(out, dim + 1, dim + 1))
        nn.init.normal_(self.weight, std=dim ** -0.5 / 4)

    def forward(self, x, y):
        x = F.pad(x, (0, 1), value=1.0)
        y = F.pad(y, (0, 1), value=1.0)
        left = torch.einsum("bxi,oij->boxj", x, self.weight)
        scores = left @ y.unsqueeze(1).transpose(-1, -2)
        return scores.squeeze(1)


class Parser(nn.Module):
    def __init__(self, dim=128, layers=2, heads=4, arc_dim=160, label_dim=64, max_len=64):
        super().__init__()
        self.words = nn.Embedding(NUM_WORDS, dim, padding_idx=PAD)
        self.tags = nn.Embedding(NUM_TAGS, dim)
        self.positions = nn.Parameter(torch.randn(max_len, dim) * 0.02)
        self.layers = nn.ModuleList(EncoderLayer(dim, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(dim)
        self.arc_dep = nn.Sequential(nn.Linear(dim, arc_dim), nn.LeakyReLU(0.1))
        self.arc_head = nn.Sequential(nn.Linear(dim, arc_dim), nn.LeakyReLU(0.1))
        self.label_dep = nn.Sequential(nn.Linear(dim, label_dim), nn.LeakyReLU(0.1))
        self.label_head = nn.Sequential(nn.Linear(dim, label_dim), nn.LeakyReLU(0.1))
        self.arc = Biaffine(arc_dim)
        self.label = Biaffine(label_dim, NUM_LABELS)

    def forward(self, words, tags):
        present = words != PAD
        x = self.words(words) + self.tags(tags) + self.positions[:words.shape[1]]
        allowed = present[:, None, None, :]
        for layer in self.layers:
            x = layer(x, allowed)
        x = self.norm(x)
        arcs = self.arc(self.arc_dep(x), self.arc_head(x))
        arcs = arcs.masked_fill(~present[:, None, :], float("-inf"))
        labels = self.label(self.label_dep(x), self.label_head(x)).permute(0, 2, 3, 1)
        return arcs, labels

    def loss(self, arcs, labels, mask, gold_heads, gold_labels):
        heads = gold_heads[mask]
        arc_scores = arcs[mask]
        label_scores = labels[mask][torch.arange(len(heads)), heads]
        arc_loss = F.cross_entropy(arc_scores, heads)
        label_loss = F.cross_entropy(label_scores, gold_labels[mask])
        return arc_loss, label_loss

    def decode(self, arcs, labels):
        heads = arcs.argmax(-1)
        best = labels.argmax(-1).gather(-1, heads.unsqueeze(-1)).squeeze(-1)
        return heads, best
