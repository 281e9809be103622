"""The sentence encoder that was trained on clinical notes (weights in encoder.pt)."""
import torch
import torch.nn.functional as F
from torch import nn


class Layer(nn.Module):
    def __init__(self, width, heads, dropout):
        super().__init__()
        self.heads = heads
        self.dropout = dropout
        self.norm1 = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.norm2 = nn.LayerNorm(width)
        self.up = nn.Linear(width, 4 * width)
        self.down = nn.Linear(4 * width, width)

    def forward(self, x, mask):
        rows, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v, attn_mask=mask,
                                              dropout_p=self.dropout if self.training else 0.0)
        x = x + F.dropout(self.out(seen.transpose(1, 2).reshape(rows, length, width)), self.dropout, self.training)
        return x + F.dropout(self.down(F.gelu(self.up(self.norm2(x)))), self.dropout, self.training)


class SentenceEncoder(nn.Module):
    def __init__(self, vocabulary, width=128, heads=4, layers=4, positions=128, dropout=0.1):
        super().__init__()
        self.config = dict(vocabulary=vocabulary, width=width, heads=heads, layers=layers,
                           positions=positions, dropout=dropout)
        self.words = nn.Embedding(vocabulary, width, padding_idx=0)
        self.positions = nn.Embedding(positions, width)
        self.layers = nn.ModuleList(Layer(width, heads, dropout) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, ids, mask):
        place = torch.arange(ids.shape[1], device=ids.device)
        x = self.words(ids) + self.positions(place)
        wide = mask.bool()[:, None, None, :]
        for layer in self.layers:
            x = layer(x, wide)
        return self.norm(x)

    @classmethod
    def from_file(cls, path):
        stored = torch.load(path)
        encoder = cls(**stored["config"])
        encoder.load_state_dict(stored["state"])
        return encoder
