import torch
from torch import nn
import torch.nn.functional as F


class Tower(nn.Module):
    def __init__(self, count, dim, hidden):
        super().__init__()
        self.table = nn.Embedding(count, dim)
        nn.init.normal_(self.table.weight, std=0.05)
        self.mlp = nn.Sequential(nn.Linear(dim, hidden), nn.GELU(), nn.Linear(hidden, dim))

    def forward(self, ids):
        e = self.table(ids)
        return F.normalize(e + self.mlp(e), dim=-1)


class TwoTower(nn.Module):
    def __init__(self, n_users, n_items, dim=32, hidden=128, scale=8.0):
        super().__init__()
        self.users = Tower(n_users, dim, hidden)
        self.items = Tower(n_items, dim, hidden)
        self.scale = scale

    def forward(self, users, positives, negatives):
        u = self.users(users)
        candidates = torch.cat([positives.unsqueeze(1), negatives], dim=1)
        v = self.items(candidates)
        return self.scale * torch.einsum("bd,bnd->bn", u, v)
