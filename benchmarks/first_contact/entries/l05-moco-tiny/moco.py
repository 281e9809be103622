"""Momentum contrast (He et al. 2020) for small images."""
import copy

import torch
import torch.nn as nn
import torch.nn.functional as F


class Residual(nn.Module):
    def __init__(self, cin, cout, stride):
        super().__init__()
        self.conv1 = nn.Conv2d(cin, cout, 3, stride, 1, bias=False)
        self.bn1 = nn.BatchNorm2d(cout)
        self.conv2 = nn.Conv2d(cout, cout, 3, 1, 1, bias=False)
        self.bn2 = nn.BatchNorm2d(cout)
        self.skip = nn.Conv2d(cin, cout, 1, stride, bias=False) if stride > 1 or cin != cout else nn.Identity()

    def forward(self, x):
        y = F.relu(self.bn1(self.conv1(x)))
        return F.relu(self.bn2(self.conv2(y)) + self.skip(x))


class Encoder(nn.Module):
    def __init__(self, width=16, dim=128):
        super().__init__()
        self.stem = nn.Sequential(nn.Conv2d(3, width, 3, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU())
        self.body = nn.Sequential(
            Residual(width, width, 1), Residual(width, 2 * width, 2), Residual(2 * width, 4 * width, 2)
        )
        self.head = nn.Sequential(nn.Linear(4 * width, 4 * width), nn.ReLU(), nn.Linear(4 * width, dim))

    def features(self, x):
        return self.body(self.stem(x)).mean((2, 3))

    def forward(self, x):
        return F.normalize(self.head(self.features(x)), dim=1)


class MoCo(nn.Module):
    def __init__(self, dim=128, queue_size=32768, momentum=0.99, temperature=0.1):
        super().__init__()
        self.momentum = momentum
        self.temperature = temperature
        self.encoder = Encoder(dim=dim)
        self.momentum_encoder = copy.deepcopy(self.encoder).requires_grad_(False)
        self.register_buffer("queue", F.normalize(torch.randn(queue_size, dim), dim=1))
        self.online = list(self.encoder.parameters())
        self.slow = list(self.momentum_encoder.parameters())

    @torch.no_grad()
    def update_momentum_encoder(self):
        torch._foreach_lerp_(self.slow, self.online, 1 - self.momentum)

    @torch.no_grad()
    def enqueue(self, keys):
        self.queue = torch.cat([keys, self.queue])[: self.queue.shape[0]].contiguous()

    def forward(self, view_q, view_k):
        q = self.encoder(view_q)
        with torch.no_grad():
            k = self.momentum_encoder(view_k)
        positive = (q * k).sum(1, keepdim=True)
        negative = q @ F.normalize(self.queue, dim=1).t()
        logits = torch.cat([positive, negative], 1) / self.temperature
        labels = torch.zeros(len(q), dtype=torch.long)
        return F.cross_entropy(logits, labels), k
