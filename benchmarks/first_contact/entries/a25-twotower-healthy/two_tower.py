"""Retrieval: two-tower model, in-batch softmax with logQ correction."""
import argparse

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class Tower(nn.Module):
    def __init__(self, n, dim, out):
        super().__init__()
        self.emb = nn.EmbeddingBag(n, dim, mode="mean")
        self.net = nn.Sequential(nn.Linear(dim, 384), nn.ReLU(), nn.Linear(384, 256), nn.ReLU(), nn.Linear(256, out))

    def forward(self, ids):
        return F.normalize(self.net(self.emb(ids)), dim=1)


def interactions(n, users, items, seed):
    rng = np.random.default_rng(seed)
    user = rng.integers(0, users, (n, 1))
    hist = (user * 13 + rng.zipf(1.5, (n, 12))) % users
    item = (user * 7 + rng.zipf(1.5, (n, 1))) % items
    tags = (item * 3 + np.arange(5)) % items
    return torch.from_numpy(np.concatenate([user, hist], 1)), torch.from_numpy(np.concatenate([item, tags], 1))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--n", type=int, default=80_000)
    ap.add_argument("--users", type=int, default=4_000)
    ap.add_argument("--items", type=int, default=2_000)
    ap.add_argument("--batch", type=int, default=512)
    ap.add_argument("--epochs", type=int, default=14)
    ap.add_argument("--temperature", type=float, default=0.07)
    a = ap.parse_args()
    torch.manual_seed(0)
    q, d = interactions(a.n, a.users, a.items, 0)
    freq = torch.bincount(d[:, 0], minlength=a.items).float()
    logq = torch.log((freq + 1) / freq.sum())
    query, doc = Tower(a.users, 32, 64), Tower(a.items, 32, 64)
    params = [*query.parameters(), *doc.parameters()]
    opt = torch.optim.Adam(params, lr=1e-3, fused=True)

    for epoch in range(a.epochs):
        hits = total = 0
        for step, idx in enumerate(torch.randperm(a.n).split(a.batch)):
            qi, di = q[idx], d[idx]
            logits = query(qi) @ doc(di).T / a.temperature - logq[di[:, 0]]
            same = di[:, :1] == di[None, :, 0]
            same.fill_diagonal_(False)
            logits = logits.masked_fill(same, -1e4)
            target = torch.arange(len(idx))
            loss = F.cross_entropy(logits, target)
            opt.zero_grad()
            loss.backward()
            opt.step()
            hits += (logits.argmax(1) == target).sum().item()
            total += len(idx)
            if step % 50 == 0:
                print(f"epoch {epoch} step {step} loss {loss.item():.3f} in-batch acc {hits / total:.3f}")


if __name__ == "__main__":
    main()
