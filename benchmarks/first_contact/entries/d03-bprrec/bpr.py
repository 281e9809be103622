#!/usr/bin/env python
# Matrix factorisation with BPR loss on implicit feedback (clicks).
import logging
import time

import numpy as np
import torch
from torch import nn
from torch.nn.functional import logsigmoid

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("bpr")

N_USERS = 40_000
N_ITEMS = 15_000
N_CLICKS = 400_000
DIM = 32
BATCH = 1024
STEPS = 2800
EVAL_EVERY = 400
LR = 0.01
REG = 1e-4


def load_clicks(rng):
    """Users have a taste cluster; items are popular by a power law inside each cluster."""
    clusters = 30
    user_cluster = rng.integers(0, clusters, N_USERS)
    users = rng.integers(0, N_USERS, N_CLICKS)
    rank = (rng.pareto(1.1, N_CLICKS) * 12).astype(np.int64) % (N_ITEMS // clusters)
    items = user_cluster[users] * (N_ITEMS // clusters) + rank
    noise = rng.random(N_CLICKS) < 0.1
    items[noise] = rng.integers(0, N_ITEMS, noise.sum())
    return users, items


class BPR(nn.Module):
    def __init__(self):
        super().__init__()
        self.user = nn.Embedding(N_USERS, DIM)
        self.item = nn.Embedding(N_ITEMS, DIM)
        self.item_bias = nn.Embedding(N_ITEMS, 1)
        nn.init.normal_(self.user.weight, std=0.05)
        nn.init.normal_(self.item.weight, std=0.05)
        nn.init.zeros_(self.item_bias.weight)

    def forward(self, u, i, j):
        pu, qi, qj = self.user(u), self.item(i), self.item(j)
        margin = (pu * (qi - qj)).sum(-1) + (self.item_bias(i) - self.item_bias(j)).squeeze(-1)
        reg = (pu.square().sum() + qi.square().sum() + qj.square().sum()) / len(u)
        return -logsigmoid(margin).mean() + REG * reg

    def scores(self, u):
        return self.user(u) @ self.item.weight.T + self.item_bias.weight.T


class Sampler:
    def __init__(self, users, items, seed=0):
        self.users, self.items = users, items
        self.rng = np.random.default_rng(seed)
        self.seen = set(zip(users.tolist(), items.tolist()))

    def batch(self):
        pick = self.rng.integers(0, len(self.users), BATCH)
        u, i = self.users[pick], self.items[pick]
        j = self.rng.integers(0, N_ITEMS, BATCH)
        for k in range(BATCH):
            while (int(u[k]), int(j[k])) in self.seen:
                j[k] = self.rng.integers(0, N_ITEMS)
        return torch.from_numpy(u), torch.from_numpy(i), torch.from_numpy(j)


@torch.no_grad()
def recall_at(model, users, items, k=20, limit=512):
    u = torch.from_numpy(users[:limit])
    top = model.scores(u).topk(k, dim=1).indices
    return (top == torch.from_numpy(items[:limit])[:, None]).any(1).float().mean().item()


def main():
    torch.manual_seed(0)
    rng = np.random.default_rng(0)
    users, items = load_clicks(rng)
    held = 4096
    sampler = Sampler(users[held:], items[held:])
    model = BPR()
    opt = torch.optim.Adam(model.parameters(), lr=LR)

    started, mean_loss = time.time(), 0.0
    for step in range(1, STEPS + 1):
        u, i, j = sampler.batch()
        loss = model(u, i, j)
        opt.zero_grad()
        loss.backward()
        opt.step()
        mean_loss += (loss.item() - mean_loss) / min(step, 50)
        if step % EVAL_EVERY == 0:
            r = recall_at(model, users[:held], items[:held])
            log.info("step %d loss %.4f recall@20 %.4f (%.1f s)", step, mean_loss, r, time.time() - started)
    torch.save(model.state_dict(), "bpr.pt")


if __name__ == "__main__":
    main()
