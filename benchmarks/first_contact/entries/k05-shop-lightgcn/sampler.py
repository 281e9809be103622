import numpy as np
import torch


class PopularitySampler:
    """Yields (user, positive item, negatives); negatives are drawn by purchase count ** alpha."""

    def __init__(self, users, items, n_items, batch_size, n_neg=4, alpha=0.75, seed=0):
        self.users, self.items = users, items
        self.n_items = n_items
        self.batch_size, self.n_neg = batch_size, n_neg
        weight = (np.bincount(items, minlength=n_items) + 1.0) ** alpha
        self.prob = weight / weight.sum()
        self.rng = np.random.RandomState(seed)

    def __len__(self):
        return len(self.users) // self.batch_size

    def negatives(self, n):
        return np.stack([self.rng.choice(self.n_items, size=self.n_neg, p=self.prob) for _ in range(n)])

    def __iter__(self):
        order = self.rng.permutation(len(self.users))
        for b in range(len(self)):
            idx = order[b * self.batch_size:(b + 1) * self.batch_size]
            yield (torch.from_numpy(self.users[idx]), torch.from_numpy(self.items[idx]),
                   torch.from_numpy(self.negatives(len(idx))))
