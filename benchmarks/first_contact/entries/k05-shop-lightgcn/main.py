import argparse
import time

import numpy as np
import torch

from interactions import normalised_adjacency, split_last, synthesize
from model import LightGCN
from sampler import PopularitySampler


@torch.no_grad()
def hit_rate(model, seen, held, k=20, chunk=500):
    """share of users whose held-out purchase is among the top k unseen items"""
    users, items = model.propagate()
    hits = 0
    for lo in range(0, len(held[0]), chunk):
        u = torch.from_numpy(held[0][lo:lo + chunk])
        scores = users[u] @ items.T
        a, b = np.searchsorted(seen[0], [lo, lo + chunk])
        scores[torch.from_numpy(seen[0][a:b] - lo), torch.from_numpy(seen[1][a:b])] = -1e9
        top = scores.topk(k, dim=1).indices
        hits += (top == torch.from_numpy(held[1][lo:lo + chunk])[:, None]).any(1).sum().item()
    return hits / len(held[0])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--batch-size", type=int, default=512)
    p.add_argument("--dim", type=int, default=32)
    p.add_argument("--layers", type=int, default=2)
    p.add_argument("--lr", type=float, default=5e-3)
    p.add_argument("--reg", type=float, default=1e-4)
    p.add_argument("--eval-every", type=int, default=160)
    args = p.parse_args()
    torch.manual_seed(0)

    n_users, n_items = 3000, 6000
    users, items = synthesize(n_users, n_items)
    train, held = split_last(users, items)
    order = np.argsort(train[0], kind="stable")
    seen = (train[0][order], train[1][order])
    adj = normalised_adjacency(*train, n_users, n_items)
    model = LightGCN(n_users, n_items, adj, args.dim, args.layers)
    sampler = PopularitySampler(*train, n_items, args.batch_size)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    print(f"{len(train[0])} purchases, {n_users} users, {n_items} items, {len(sampler)} batches")
    step, total, t0 = 0, 0.0, time.time()
    for epoch in range(args.epochs):
        for u, pos, neg in sampler:
            loss = model.bpr_loss(u, pos, neg, args.reg)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.item()
            step += 1
            if step % args.eval_every == 0:
                print(f"epoch {epoch} step {step} loss {total / args.eval_every:.4f} "
                      f"hit@20 {hit_rate(model, seen, held):.4f} {(time.time() - t0) / step * 1e3:.0f} ms/step", flush=True)
                total = 0.0


if __name__ == "__main__":
    main()
