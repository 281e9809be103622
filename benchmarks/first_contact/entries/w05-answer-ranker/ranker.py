import torch
from torch import nn
import torch.nn.functional as F


class CrossLayer(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.linear = nn.Linear(width, width)

    def forward(self, first, x):
        return torch.addcmul(x, first, self.linear(x))


class ListRanker(nn.Module):
    """Crosses of features for every candidate, attention among the candidates of a question."""

    def __init__(self, numeric, sources, authors, width=96, crosses=2, heads=4):
        super().__init__()
        self.source = nn.Embedding(sources, 16)
        self.author = nn.Embedding(authors, 16)
        inputs = numeric + 32
        self.crosses = nn.ModuleList(CrossLayer(inputs) for _ in range(crosses))
        self.enter = nn.Linear(inputs, width)
        self.norm = nn.LayerNorm(width)
        self.heads = heads
        self.qkv = nn.Linear(width, 3 * width)
        self.mix = nn.Linear(width, width)
        self.tower = nn.Sequential(
            nn.LayerNorm(width), nn.Linear(width, 2 * width), nn.ReLU(inplace=True),
            nn.Linear(2 * width, width), nn.ReLU(inplace=True), nn.Linear(width, 1),
        )

    def attend(self, x, mask):
        rows, length, width = x.shape
        q, k, v = self.qkv(x).view(rows, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        out = F.scaled_dot_product_attention(q, k, v, attn_mask=mask[:, None, None])
        return self.mix(out.transpose(1, 2).reshape(rows, length, width))

    def forward(self, numeric, source, author, mask):
        rows, length = mask.shape
        first = x = torch.cat([numeric, self.source(source), self.author(author)], -1).flatten(0, 1)
        for cross in self.crosses:
            x = cross(first, x)
        x = F.relu(self.enter(x)).view(rows, length, -1)
        x = x + self.attend(self.norm(x), mask)
        return self.tower(x).squeeze(-1).masked_fill(~mask, -1e4)
