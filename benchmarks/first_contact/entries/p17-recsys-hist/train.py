import argparse
import os
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

torch.set_num_threads(1)


class OneHotEncoder(nn.Module):
    def __init__(self, n_items, dim):
        super().__init__()
        self.n_items = n_items
        self.proj = nn.Linear(n_items, dim, bias=False)
        nn.init.normal_(self.proj.weight, std=0.05)

    def forward(self, ids):
        return self.proj(F.one_hot(ids, self.n_items).float())


class NextItem(nn.Module):
    """History -> next item, sampled softmax over 200 candidates."""

    def __init__(self, n_items=1600, dim=96):
        super().__init__()
        self.items = OneHotEncoder(n_items, dim)
        self.mix = nn.Sequential(nn.Linear(dim, 4 * dim), nn.ReLU(), nn.Linear(4 * dim, 4 * dim), nn.ReLU(), nn.Linear(4 * dim, dim))
        self.pos = nn.Parameter(torch.zeros(1, 20, dim))
        self.cand = nn.Embedding(n_items, dim)

    def forward(self, hist, cands):
        h = self.items(hist) + self.pos
        h = (h + self.mix(h)).mean(1)
        return torch.einsum("bd,bcd->bc", h, self.cand(cands))


def batches(n, bs, n_items, gen):
    for _ in range(n):
        hist = torch.randint(0, n_items, (bs, 20), generator=gen)
        cands = torch.randint(0, n_items, (bs, 200), generator=gen)
        cands[:, 0] = (hist[:, -1] * 7 + 3) % n_items
        yield hist, cands


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--steps", type=int, default=80)
    p.add_argument("--bs", type=int, default=64)
    p.add_argument("--items", type=int, default=1600)
    a = p.parse_args()
    gen = torch.Generator().manual_seed(0)
    torch.manual_seed(0)
    model = NextItem(a.items)
    opt = torch.optim.Adagrad(model.parameters(), lr=0.05)
    zeros = torch.zeros(a.bs, dtype=torch.long)
    for ep in range(a.epochs):
        start, tot, hits = time.time(), 0.0, 0
        for hist, cands in batches(a.steps, a.bs, a.items, gen):
            scores = model(hist, cands)
            loss = F.cross_entropy(scores, zeros)
            opt.zero_grad()
            loss.backward()
            opt.step()
            tot += loss.item()
            hits += (scores.argmax(1) == 0).sum().item()
        print("epoch {} loss {:.4f} hit@1 {:.3f} ({:.1f}s, pid {})".format(
            ep, tot / a.steps, hits / (a.steps * a.bs), time.time() - start, os.getpid()))


if __name__ == "__main__":
    main()
