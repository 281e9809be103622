import torch
import torch.nn as nn
import torch.nn.functional as F


class MovingAverage(nn.Module):
    """Centred moving average along time, edges repeated; x is (batch, time, channels)."""

    def __init__(self, channels, kernel):
        super().__init__()
        self.pad = (kernel - 1) // 2
        weight = torch.zeros(channels, channels, kernel)
        weight[torch.arange(channels), torch.arange(channels)] = 1.0 / kernel
        self.register_buffer("weight", weight)

    def forward(self, x):
        x = F.pad(x.transpose(1, 2), (self.pad, self.pad), mode="replicate")
        return F.conv1d(x, self.weight).transpose(1, 2)


class Decompose(nn.Module):
    def __init__(self, channels, kernel=25):
        super().__init__()
        self.average = MovingAverage(channels, kernel)

    def forward(self, x):
        trend = self.average(x)
        return x - trend, trend


class EncoderLayer(nn.Module):
    """attention, decomposition, feed-forward, decomposition"""

    def __init__(self, d, heads, kernel, drop=0.05):
        super().__init__()
        self.heads = heads
        self.qkv, self.out = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.ff = nn.Sequential(nn.Linear(d, 2 * d), nn.GELU(), nn.Linear(2 * d, d))
        self.decomp1, self.decomp2 = Decompose(d, kernel), Decompose(d, kernel)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d)
        x, _ = self.decomp1(x + self.drop(self.out(a)))
        x, trend = self.decomp2(x + self.drop(self.ff(x)))
        return x, trend


class Forecaster(nn.Module):
    def __init__(self, channels, marks, seq_len, pred_len, d=64, heads=4, layers=2, kernel=25):
        super().__init__()
        self.decomp = Decompose(channels, kernel)
        self.embed = nn.Linear(channels, d)
        self.mark = nn.Linear(marks, d)
        self.layers = nn.ModuleList([EncoderLayer(d, heads, kernel) for _ in range(layers)])
        self.season_time = nn.Linear(seq_len, pred_len)
        self.trend_time = nn.Linear(seq_len, pred_len)
        self.head = nn.Linear(d, channels)
        self.seq_len = seq_len

    def forward(self, x, marks):
        last = x[:, -1:].detach()
        season, trend = self.decomp(x - last)
        h = self.embed(season) + self.mark(marks[:, :self.seq_len])
        for layer in self.layers:
            h, extra = layer(h)
            h = h + 0.1 * extra
        h = self.season_time(h.transpose(1, 2)).transpose(1, 2) + self.mark(marks[:, self.seq_len:])
        trend = self.trend_time(trend.transpose(1, 2)).transpose(1, 2)
        return self.head(h) + trend + last
