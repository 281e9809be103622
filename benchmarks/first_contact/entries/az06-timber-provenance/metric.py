import torch
from torch import nn
import torch.nn.functional as F


class Embedder(nn.Module):
    def __init__(self, bins, hidden=768, dim=32):
        super().__init__()
        self.net = nn.Sequential(
            nn.Linear(bins, hidden), nn.BatchNorm1d(hidden), nn.ReLU(),
            nn.Linear(hidden, hidden), nn.BatchNorm1d(hidden), nn.ReLU(),
            nn.Linear(hidden, dim),
        )

    def forward(self, x):
        return F.normalize(self.net(x), dim=1)


class CrossBatchMemory:
    def __init__(self, size, dim):
        self.size = size
        self.embeddings = torch.zeros(0, dim)
        self.sites = torch.zeros(0, dtype=torch.long)

    def push(self, embeddings, sites):
        self.embeddings = torch.cat([self.embeddings, embeddings.detach()])[-self.size:]
        self.sites = torch.cat([self.sites, sites])[-self.size:]

    def __len__(self):
        return len(self.sites)


def pairwise_distance(a, b):
    diff = a.unsqueeze(1) - b.unsqueeze(0)
    return (diff.pow(2).sum(dim=2) + 1e-8).sqrt()


class MarginLoss(nn.Module):
    def __init__(self, near=0.3, far=1.0, hardest=32):
        super().__init__()
        self.near, self.far, self.hardest = near, far, hardest

    def forward(self, anchors, anchor_sites, others, other_sites):
        dist = pairwise_distance(anchors, others)
        same = anchor_sites.unsqueeze(1) == other_sites.unsqueeze(0)
        pull = F.relu(dist - self.near) * same
        push = F.relu(self.far - dist) * ~same
        push, _ = push.sort(dim=1, descending=True)
        push = push[:, : self.hardest]
        return pull.sum() / same.sum().clamp(min=1) + push.mean()
