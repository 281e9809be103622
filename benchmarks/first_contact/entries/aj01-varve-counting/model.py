import torch
import torch.nn.functional as F
from torch import nn


class Block(nn.Module):
    def __init__(self, width, dilation):
        super().__init__()
        self.body = nn.Sequential(
            nn.BatchNorm1d(width),
            nn.ReLU(inplace=True),
            nn.Conv1d(width, width, 3, padding=dilation, dilation=dilation, bias=False),
            nn.BatchNorm1d(width),
            nn.ReLU(inplace=True),
            nn.Conv1d(width, width, 1),
        )

    def forward(self, x):
        return x + self.body(x)


class DepthAttention(nn.Module):
    """Self-attention along depth, biased by a small network of the signed distance of the two samples."""

    def __init__(self, width, heads=2, hidden=32):
        super().__init__()
        self.heads = heads
        self.norm = nn.LayerNorm(width)
        self.qkv = nn.Linear(width, 3 * width)
        self.distance = nn.Sequential(nn.Linear(2, hidden), nn.GELU(), nn.Linear(hidden, heads))
        self.out = nn.Linear(width, width)

    def bias(self, length):
        place = torch.arange(length, dtype=torch.float32)
        offset = place[None, :] - place[:, None]
        features = torch.stack([offset / length, offset.sign() * torch.log1p(offset.abs())], dim=-1)
        return self.distance(features).permute(2, 0, 1)

    def forward(self, x):
        batch, width, length = x.shape
        qkv = self.qkv(self.norm(x.transpose(1, 2))).view(batch, length, 3, self.heads, -1)
        q, k, v = qkv.permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, attn_mask=self.bias(length)[None])
        return x + self.out(y.transpose(1, 2).reshape(batch, length, width)).transpose(1, 2)


class VarveNet(nn.Module):
    """Pyramid along depth; every level has its say in the boundary map."""

    def __init__(self, channels=10, widths=(16, 24, 32, 48), fused=48):
        super().__init__()
        self.stem = nn.Conv1d(channels, widths[0], 7, stride=2, padding=3)
        stages, downs = [], []
        for level, width in enumerate(widths):
            stages.append(Block(width, 2))
            if level + 1 < len(widths):
                downs.append(nn.Conv1d(width, widths[level + 1], 4, stride=2, padding=1))
        self.stages = nn.ModuleList(stages)
        self.downs = nn.ModuleList(downs)
        self.attention = DepthAttention(widths[1])
        self.fuse = nn.Conv1d(sum(widths), fused, 1)
        self.norm = nn.BatchNorm1d(fused)
        self.head = nn.Conv1d(fused, 2, 3, padding=1)

    def forward(self, x):
        length = x.shape[-1]
        x = self.stem(x)
        levels = []
        for number, stage in enumerate(self.stages):
            x = stage(x)
            if number == 1:
                x = self.attention(x)
            levels.append(x)
            if number < len(self.downs):
                x = self.downs[number](x)

        size = levels[0].shape[-1]
        pyramid = [F.interpolate(level, size=size, mode="linear", align_corners=False) for level in levels]
        x = self.fuse(torch.cat(pyramid, dim=1))
        x = self.head(F.relu(self.norm(x)))
        return F.interpolate(x, size=length, mode="linear", align_corners=False)
