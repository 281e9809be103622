"""Frame tagger: a causal transformer in which a frame looks back a limited number of frames."""
import torch
import torch.nn.functional as F
from torch import nn


class LocalAttention(nn.Module):
    """Self-attention of each frame to itself and the `window - 1` frames before it."""

    def __init__(self, dim, heads, window, max_frames):
        super().__init__()
        self.heads = heads
        self.window = window
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        i = torch.arange(max_frames)
        back = i[:, None] - i[None, :]
        self.register_buffer("band", (back >= 0) & (back < window), persistent=False)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.band[:n, :n])
        return self.out(y.transpose(1, 2).reshape(b, n, d))


class Layer(nn.Module):
    def __init__(self, dim, heads, window, max_frames):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = LocalAttention(dim, heads, window, max_frames)
        self.up, self.down = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, x):
        x = x + self.attention(self.norm1(x))
        return x + self.down(F.relu(self.up(self.norm2(x))))


class FrameTagger(nn.Module):
    def __init__(self, mels, species, dim=96, heads=4, depth=2, window=32, max_frames=512):
        super().__init__()
        self.embed = nn.Linear(mels, dim)
        self.layers = nn.ModuleList(Layer(dim, heads, window, max_frames) for _ in range(depth))
        self.norm = nn.LayerNorm(dim)
        self.head = nn.Linear(dim, species)

    def forward(self, x):
        x = self.embed(x)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x))
