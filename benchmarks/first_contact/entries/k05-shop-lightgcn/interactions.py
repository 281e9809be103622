import numpy as np
import torch


def synthesize(n_users=3000, n_items=6000, n_inter=45000, factors=8, seed=7):
    """purchases from a latent-factor world with a long popularity tail"""
    rng = np.random.default_rng(seed)
    taste, trait = rng.normal(size=(n_users, factors)), rng.normal(size=(n_items, factors))
    pop = np.log(1.0 / (np.arange(n_items) + 10.0))
    rng.shuffle(pop)
    counts = np.maximum(4, rng.poisson(n_inter / n_users, n_users))
    users, items = [], []
    for u in range(n_users):
        score = 0.8 * trait @ taste[u] + pop + rng.gumbel(size=n_items)
        chosen = np.argpartition(-score, counts[u])[:counts[u]]
        users.append(np.full(counts[u], u))
        items.append(chosen)
    return np.concatenate(users), np.concatenate(items)


def split_last(users, items, seed=0):
    """one held-out purchase per user"""
    perm = np.random.default_rng(seed).permutation(len(users))
    users, items = users[perm], items[perm]
    _, first = np.unique(users, return_index=True)
    mask = np.zeros(len(users), dtype=bool)
    mask[first] = True
    return (users[~mask], items[~mask]), (users[mask], items[mask])


def normalised_adjacency(users, items, n_users, n_items):
    n = n_users + n_items
    row = torch.from_numpy(np.concatenate([users, items + n_users]))
    col = torch.from_numpy(np.concatenate([items + n_users, users]))
    degree = torch.bincount(row, minlength=n).float().clamp(min=1)
    value = degree[row].rsqrt() * degree[col].rsqrt()
    return torch.sparse_coo_tensor(torch.stack([row, col]), value, (n, n)).coalesce().to_sparse_csr()
