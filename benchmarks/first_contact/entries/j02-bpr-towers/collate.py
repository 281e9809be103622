import numpy as np
import torch


class NegativeSampler:
    """Collate function that pairs each interaction with items the user never touched."""

    def __init__(self, history, n_items, n_negatives, seed=0):
        self.seen = {user: set(items) for user, items in history.items()}
        self.n_items = n_items
        self.n_negatives = n_negatives
        self.random = np.random.RandomState(seed)

    def draw(self, user):
        picked = []
        for _ in range(self.n_negatives):
            candidate = self.random.randint(self.n_items)
            while candidate in self.seen[user]:
                candidate = self.random.randint(self.n_items)
            picked.append(candidate)
        return picked

    def __call__(self, rows):
        users = torch.tensor([row.user for row in rows])
        positives = torch.tensor([row.item for row in rows])
        negatives = torch.tensor([self.draw(row.user) for row in rows])
        return users, positives, negatives
