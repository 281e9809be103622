import torch
from torch import nn
import torch.nn.functional as F


def mlp(cin, dim, cout, depth):
    layers = [nn.Linear(cin, dim), nn.ReLU(inplace=True)]
    for _ in range(depth - 2):
        layers += [nn.Linear(dim, dim), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers, nn.Linear(dim, cout))


class SelfAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.qkv = nn.Linear(dim, 3 * dim)
        self.out = nn.Linear(dim, dim)
        self.norm = nn.LayerNorm(dim)

    def forward(self, x):
        b, n, d = x.shape
        q, k, v = self.qkv(x).view(b, n, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, n, d)
        return self.norm(x + self.out(y))


class CrossAttention(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.place = mlp(2, dim, dim, 2)
        self.v = nn.Linear(dim, dim)
        self.out = nn.Linear(dim, dim)

    def forward(self, where, n_context, values):
        b, n, _ = where.shape
        d = values.shape[-1]
        place = self.place(where).view(b, n, self.heads, -1).transpose(1, 2)
        v = self.v(values).view(b, n_context, self.heads, -1).transpose(1, 2)
        y = F.scaled_dot_product_attention(place, place[:, :, :n_context], v)
        return self.out(y.transpose(1, 2).reshape(b, n, d))


class SoundingProcess(nn.Module):
    """Attentive neural process with a deterministic and a latent path."""

    def __init__(self, dim=128, latent=64, heads=8):
        super().__init__()
        self.local = nn.Sequential(mlp(3, dim, dim, 3), SelfAttention(dim, heads), SelfAttention(dim, heads))
        self.cross = CrossAttention(dim, heads)
        self.whole = mlp(3, dim, dim, 3)
        self.belief = nn.Sequential(nn.Linear(dim, dim), nn.ReLU(inplace=True), nn.Linear(dim, 2 * latent))
        self.from_where = nn.Linear(2, dim)
        self.from_local = nn.Linear(dim, dim, bias=False)
        self.from_latent = nn.Linear(latent, dim, bias=False)
        self.tail = nn.Sequential(nn.ReLU(inplace=True), mlp(dim, dim, 2, 3))

    def beliefs(self, pairs, n_context):
        each = self.whole(pairs)
        few = each[:, :n_context].mean(1)
        mean, raw = self.belief(torch.stack([few, each.mean(1)])).chunk(2, -1)
        return mean, 0.1 + 0.9 * raw.sigmoid()

    def forward(self, where, depth, n_context, learn=True):
        pairs = torch.cat([where, depth], -1)
        mean, spread = self.beliefs(pairs if learn else pairs[:, :n_context], n_context)
        pick = 1 if learn else 0
        z = mean[pick] + spread[pick] * torch.randn_like(mean[pick])
        local = self.cross(where, n_context, self.local(pairs[:, :n_context]))
        hidden = self.from_where(where) + self.from_local(local) + self.from_latent(z)[:, None]
        guess, raw = self.tail(hidden).chunk(2, -1)
        sigma = 0.05 + 0.95 * F.softplus(raw)
        loss = (0.5 * ((depth - guess) / sigma).square() + sigma.log()).mean()
        if not learn:
            return loss, guess
        ratio = (spread[1] / spread[0]).square()
        kl = 0.5 * (ratio + ((mean[1] - mean[0]) / spread[0]).square() - 1 - ratio.log()).sum(-1)
        return loss, kl.mean() / where.shape[1]
