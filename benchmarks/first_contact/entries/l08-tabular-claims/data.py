"""Synthetic insurance claims: numeric columns, categorical columns, a rare positive label."""
import numpy as np
import torch

CARDINALITIES = [1200, 400, 90, 52, 31, 12, 7, 3]


def make_claims(rows, numeric=14, seed=0):
    rng = np.random.default_rng(seed)
    cats = np.stack([np.minimum(rng.zipf(1.4, rows) - 1, c - 1) for c in CARDINALITIES], 1)
    nums = rng.lognormal(0.0, 1.0, (rows, numeric))
    effect_rng = np.random.default_rng(99)
    logit = -2.0 + 0.3 * np.log(nums[:, 0]) * np.log(nums[:, 1])
    for j, c in enumerate(CARDINALITIES):
        logit += effect_rng.normal(0, 0.5, c)[cats[:, j]]
    label = rng.random(rows) < 1 / (1 + np.exp(-logit))
    return cats, np.log1p(nums), label


class ClaimTable:
    """All columns as tensors; the categories of the columns share one index space."""

    def __init__(self, rows, seed, stats=None):
        cats, nums, label = make_claims(rows, seed=seed)
        self.stats = (nums.mean(0), nums.std(0)) if stats is None else stats
        offsets = np.cumsum([0] + CARDINALITIES[:-1])
        self.cats = torch.from_numpy(cats + offsets)
        self.nums = torch.from_numpy(((nums - self.stats[0]) / self.stats[1]).astype(np.float32))
        self.label = torch.from_numpy(label.astype(np.float32))

    def __len__(self):
        return len(self.label)

    def batches(self, size, shuffle):
        if shuffle:
            for idx in torch.randperm(len(self))[: len(self) // size * size].split(size):
                yield self.cats[idx], self.nums[idx], self.label[idx]
        else:
            yield from zip(self.cats.split(size), self.nums.split(size), self.label.split(size))
