import torch
import torch.nn as nn
import torch.nn.functional as F


class ItemTower(nn.Module):
    def __init__(self, items, categories, dim):
        super().__init__()
        self.item = nn.Embedding(items, dim)
        self.category = nn.Embedding(categories, dim)
        self.net = nn.Sequential(nn.Linear(2 * dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))

    def forward(self, item, category):
        return F.normalize(self.net(torch.cat([self.item(item), self.category(category)], 1)), dim=1)


class UserTower(nn.Module):
    """A GRU over the last items a user has seen."""

    def __init__(self, dim, hidden):
        super().__init__()
        self.gru = nn.GRU(dim, hidden, batch_first=True)
        self.net = nn.Sequential(nn.Linear(hidden, hidden), nn.ReLU(), nn.Linear(hidden, dim))

    def forward(self, seen):
        _, last = self.gru(seen)
        return F.normalize(self.net(last[0]), dim=1)
