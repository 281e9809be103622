"""Data and network for the delay forecasts."""
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn


@dataclass
class Table:
    cats: torch.Tensor
    nums: torch.Tensor
    delay: torch.Tensor

    def __len__(self):
        return len(self.delay)

    def take(self, index):
        return self.cats.index_select(0, index), self.nums.index_select(0, index), self.delay.index_select(0, index)

    def slices(self, size):
        for at in range(0, len(self), size):
            yield self.cats[at:at + size], self.nums[at:at + size], self.delay[at:at + size]


def load(path, held_out=0.1, seed=0):
    raw = np.load(path)
    cards = raw["cards"]
    starts = np.concatenate([[0], np.cumsum(cards)[:-1]])
    cats = torch.from_numpy(raw["cats"].astype(np.int64) + starts)
    nums, delay = torch.from_numpy(raw["nums"]), torch.from_numpy(raw["delay"])
    order = torch.randperm(len(delay), generator=torch.Generator().manual_seed(seed))
    cut = int(len(delay) * held_out)
    valid, train = order[:cut], order[cut:]
    mean, std = nums[train].mean(0), nums[train].std(0)
    nums = (nums - mean) / std
    return Table(cats[train], nums[train], delay[train]), Table(cats[valid], nums[valid], delay[valid]), int(cards.sum())


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, width)
        self.down = nn.Linear(width, width)
        nn.init.zeros_(self.down.weight)

    def forward(self, x):
        return x + self.down(torch.relu(self.up(self.norm(x))))


class DelayNet(nn.Module):
    """Embeddings of all the categories out of one table, residual trunk, monotone quantiles."""

    def __init__(self, n_values, n_cats, n_nums, width, depth, levels, emb=24):
        super().__init__()
        self.table = nn.Embedding(n_values, emb)
        nn.init.normal_(self.table.weight, std=0.1)
        self.stem = nn.Linear(n_cats * emb + n_nums, width)
        self.trunk = nn.Sequential(*[Block(width) for _ in range(depth)])
        self.norm = nn.LayerNorm(width)
        self.head = nn.Linear(width, levels)

    def forward(self, cats, nums):
        x = torch.cat([self.table(cats).flatten(1), nums], dim=1)
        out = self.head(self.norm(self.trunk(self.stem(x))))
        base, gaps = out[:, :1], nn.functional.softplus(out[:, 1:])
        return torch.cat([base, base + gaps.cumsum(1)], dim=1)


class Pinball(nn.Module):
    def __init__(self, levels):
        super().__init__()
        self.register_buffer("levels", torch.tensor(levels))

    def forward(self, quantiles, target):
        miss = target.unsqueeze(1) - quantiles
        return torch.maximum(self.levels * miss, (self.levels - 1) * miss).mean()
