"""Draws a small Ciao: ratings and trust in the layout of GraphRec's data/toy_dataset.pickle and of its sizes (705 users, 1941 items, 14091 + 3733 ratings, degrees with long tails)."""
import os
import pickle
from collections import defaultdict

import numpy as np

USERS, ITEMS, TRAIN, TEST = 705, 1941, 14091, 3733
RATINGS = {2.0: 0, 1.0: 1, 3.0: 2, 2.5: 3, 3.5: 4, 1.5: 5, 4.0: 6, 0.5: 7}


def main():
    rng = np.random.default_rng(681)
    user_p = rng.lognormal(0.0, 1.15, USERS)
    item_p = 1.0 / np.arange(1, ITEMS + 1) ** 0.9
    taste, trait = rng.normal(size=(USERS, 6)), rng.normal(size=(ITEMS, 6))
    pairs, order = set(), []

    def rate(u, v):
        if (u, v) not in pairs:
            pairs.add((u, v))
            score = np.clip(2.6 + 0.4 * taste[u] @ trait[v] + rng.normal(0, 0.5), 0.5, 4.0)
            order.append((u, v, float(np.round(score * 2) / 2)))

    for u in range(USERS):
        rate(u, int(rng.choice(ITEMS, p=item_p / item_p.sum())))
    for v in range(ITEMS):
        rate(int(rng.choice(USERS, p=user_p / user_p.sum())), v)
    while len(order) < TRAIN + TEST:
        us = rng.choice(USERS, 2000, p=user_p / user_p.sum())
        vs = rng.choice(ITEMS, 2000, p=item_p / item_p.sum())
        for u, v in zip(us.tolist(), vs.tolist()):
            if len(order) < TRAIN + TEST:
                rate(u, v)
    first, rest = order[:USERS + ITEMS], order[USERS + ITEMS:]
    rest = [rest[k] for k in rng.permutation(len(rest))]
    train = first + rest[:TRAIN - len(first)]
    test = rest[TRAIN - len(first):]
    train = [train[k] for k in rng.permutation(len(train))]

    hu, hur, hv, hvr = defaultdict(list), defaultdict(list), defaultdict(list), defaultdict(list)
    for u, v, r in train:
        hu[u].append(v)
        hur[u].append(RATINGS[r])
        hv[v].append(u)
        hvr[v].append(RATINGS[r])
    social = defaultdict(set)
    for u in range(USERS):
        for _ in range(1 if rng.random() < 0.8 else int(rng.integers(2, 9))):
            other = int(rng.choice(USERS, p=user_p / user_p.sum()))
            if other == u:
                other = (u + 1) % USERS
            social[u].add(other)
            social[other].add(u)
    os.makedirs('data', exist_ok=True)
    columns = [list(c) for c in zip(*train)] + [list(c) for c in zip(*test)]
    with open('data/toy_dataset.pickle', 'wb') as f:
        pickle.dump((hu, hur, hv, hvr, *columns, social, RATINGS), f)
    for name, lists in (('items a user', hu), ('users an item', hv), ('friends', social)):
        lengths = [len(x) for x in lists.values()]
        print(name, round(float(np.mean(lengths)), 1), max(lengths))


if __name__ == '__main__':
    main()
