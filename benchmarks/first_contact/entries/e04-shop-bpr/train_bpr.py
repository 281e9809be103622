import argparse
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn


@dataclass
class Interactions:
    users: np.ndarray
    items: np.ndarray
    n_users: int
    n_items: int
    by_user: dict


def synthetic_shop(n_users, n_items, per_user, seed):
    rng = np.random.default_rng(seed)
    taste = rng.integers(0, 40, n_users)
    users = np.repeat(np.arange(n_users), per_user)
    in_taste = rng.random(len(users)) < 0.7
    popular = (n_items * rng.random(len(users)) ** 2.5).astype(np.int64)
    niche = (popular // 40) * 40 + taste[users]
    items = np.where(in_taste, niche, popular).clip(0, n_items - 1)
    by_user = {}
    for u, i in zip(users, items):
        by_user.setdefault(int(u), set()).add(int(i))
    return Interactions(users, items, n_users, n_items, by_user)


class BPR(nn.Module):
    def __init__(self, n_users, n_items, dim):
        super().__init__()
        self.user = nn.Embedding(n_users, dim)
        self.item = nn.Embedding(n_items, dim)
        self.bias = nn.Embedding(n_items, 1)
        nn.init.normal_(self.user.weight, std=0.05)
        nn.init.normal_(self.item.weight, std=0.05)
        nn.init.zeros_(self.bias.weight)

    def score(self, u, i):
        return (self.user(u) * self.item(i)).sum(-1) + self.bias(i).squeeze(-1)

    def forward(self, u, pos, neg):
        return -nn.functional.logsigmoid(self.score(u, pos) - self.score(u, neg)).mean()


class Trainer:
    def __init__(self, data, args):
        self.data, self.args = data, args
        self.rng = np.random.default_rng(args.seed)
        order = self.rng.permutation(len(data.users))
        held = len(order) // 50
        self.val_idx, self.train_idx = order[:held], order[held:]
        self.model = BPR(data.n_users, data.n_items, args.dim)
        self.opt = torch.optim.Adam(self.model.parameters(), lr=args.lr)

    def negatives(self, users):
        out = []
        for u in users:
            j = self.rng.integers(self.data.n_items)
            while j in self.data.by_user[int(u)]:
                j = self.rng.integers(self.data.n_items)
            out.append(j)
        return np.array(out)

    def batches(self, idx):
        for s in range(0, len(idx) - self.args.batch + 1, self.args.batch):
            b = idx[s:s + self.args.batch]
            users = self.data.users[b]
            yield (torch.from_numpy(users), torch.from_numpy(self.data.items[b]),
                   torch.from_numpy(self.negatives(users)))

    def epoch(self):
        total, steps = 0.0, 0
        for u, pos, neg in self.batches(self.rng.permutation(self.train_idx)):
            self.opt.zero_grad()
            loss = self.model(u, pos, neg)
            loss.backward()
            self.opt.step()
            total += loss.item()
            steps += 1
        return total / steps

    @torch.no_grad()
    def auc(self):
        wins, n = 0, 0
        for u, pos, neg in self.batches(self.val_idx):
            wins += (self.model.score(u, pos) > self.model.score(u, neg)).sum().item()
            n += len(u)
        return wins / n

    def fit(self):
        for e in range(self.args.epochs):
            loss = self.epoch()
            print(f"epoch {e}: bpr loss {loss:.4f}  val auc {self.auc():.4f}")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--users", type=int, default=6000)
    ap.add_argument("--items", type=int, default=24000)
    ap.add_argument("--per-user", type=int, default=20)
    ap.add_argument("--dim", type=int, default=32)
    ap.add_argument("--batch", type=int, default=1024)
    ap.add_argument("--epochs", type=int, default=24)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--seed", type=int, default=0)
    args = ap.parse_args()
    torch.manual_seed(args.seed)
    Trainer(synthetic_shop(args.users, args.items, args.per_user, args.seed), args).fit()
