import torch
from torch import nn
from torch.nn import functional as F


class Block(nn.Module):
    def __init__(self, width, heads, inner):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.out = nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, inner), nn.Linear(inner, width)

    def forward(self, x):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        seen = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(seen.transpose(1, 2).reshape(batch, length, width))
        return x + self.down(F.relu(self.up(self.norm2(x))))


class ProfileEncoder(nn.Module):
    """Cuts a profile into short strips, lets them attend to each other and pools them to a unit vector."""

    def __init__(self, points=192, channels=4, strip=8, width=128, heads=4, depth=2, size=96):
        super().__init__()
        self.strip = strip
        self.embed = nn.Linear(strip * channels, width)
        self.place = nn.Parameter(0.02 * torch.randn(points // strip, width))
        self.blocks = nn.Sequential(*[Block(width, heads, 2 * width) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)
        self.score = nn.Linear(width, 1)
        self.head = nn.Linear(width, size)

    def forward(self, points):
        strips = points.unflatten(1, (-1, self.strip)).flatten(2)
        x = self.norm(self.blocks(self.embed(strips) + self.place))
        pooled = (self.score(x).softmax(1).transpose(1, 2) @ x).squeeze(1)
        return F.normalize(self.head(pooled), dim=1)
