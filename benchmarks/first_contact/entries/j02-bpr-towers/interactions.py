"""Implicit-feedback interactions: synthetic shop log with latent tastes."""
from typing import NamedTuple

import numpy as np
from torch.utils.data import Dataset


class Interaction(NamedTuple):
    user: int
    item: int


def simulate_log(n_users, n_items, per_user, n_tastes=24, seed=11):
    rng = np.random.default_rng(seed)
    taste_of_item = rng.integers(0, n_tastes, n_items)
    shelves = [np.flatnonzero(taste_of_item == k) for k in range(n_tastes)]
    taste_of_user = rng.integers(0, n_tastes, n_users)
    history = {}
    for user in range(n_users):
        shelf = shelves[taste_of_user[user]]
        own = shelf[(rng.random(per_user) ** 2 * len(shelf)).astype(int)]
        stray = rng.integers(0, n_items, max(1, per_user // 5))
        history[user] = np.unique(np.concatenate([own, stray])).tolist()
    return history


def leave_one_out(history, seed=5):
    rng = np.random.default_rng(seed)
    train, heldout = {}, {}
    for user, items in history.items():
        k = int(rng.integers(len(items)))
        heldout[user] = items[k]
        train[user] = items[:k] + items[k + 1:]
    return train, heldout


class InteractionDataset(Dataset):
    def __init__(self, history):
        self.rows = [Interaction(u, i) for u, items in history.items() for i in items]

    def __len__(self):
        return len(self.rows)

    def __getitem__(self, index):
        return self.rows[index]
