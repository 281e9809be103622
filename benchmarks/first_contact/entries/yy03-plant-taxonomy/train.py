"""Poincare embeddings of a plant taxonomy (Nickel & Kiela 2017)."""
import argparse
import random
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from closure import ClosureDataset
from poincare import PoincareEmbedding, RiemannianSGD, distance


def parse_args():
    ap = argparse.ArgumentParser()
    ap.add_argument("--data", default="closure.csv")
    ap.add_argument("--dim", type=int, default=16)
    ap.add_argument("--epochs", type=int, default=30)
    ap.add_argument("--burn-in", type=int, default=4)
    ap.add_argument("--batch-size", type=int, default=256)
    ap.add_argument("--negatives", type=int, default=25)
    ap.add_argument("--lr", type=float, default=60.0)
    ap.add_argument("--eval-taxa", type=int, default=1000)
    ap.add_argument("--checkpoint", default="taxonomy.pt")
    ap.add_argument("--seed", type=int, default=7)
    return ap.parse_args()


@torch.no_grad()
def reconstruction(model, ancestors, taxa):
    """Mean rank of the ancestors among all taxa, and mean average precision."""
    table = model.table.weight
    ranks, precisions = [], []
    for u in taxa:
        d = distance(table[u], table)
        d[u] = float("inf")
        order = d.argsort().tolist()
        positions = sorted(order.index(v) + 1 for v in ancestors[u])
        for k, pos in enumerate(positions):
            ranks.append(pos - k)
        precisions.append(np.mean([(k + 1) / pos for k, pos in enumerate(positions)]))
    return np.mean(ranks), np.mean(precisions)


def main():
    args = parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)

    dataset = ClosureDataset(args.data, args.negatives)
    loader = DataLoader(dataset, batch_size=args.batch_size, shuffle=True, drop_last=True)
    model = PoincareEmbedding(dataset.n_taxa, args.dim)
    optimizer = RiemannianSGD(model.parameters(), lr=args.lr)
    eval_taxa = random.sample(sorted(dataset.ancestors), args.eval_taxa)
    print(f"{dataset.n_taxa} taxa, {len(dataset)} pairs, {len(loader)} steps an epoch")

    best = float("inf")
    for epoch in range(args.epochs):
        lr = args.lr / 10 if epoch < args.burn_in else args.lr
        for group in optimizer.param_groups:
            group["lr"] = lr

        start = time.time()
        losses = []
        for batch in loader:
            scores = model(batch)
            target = torch.zeros(len(batch), dtype=torch.long)
            loss = F.cross_entropy(scores, target)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        seconds = time.time() - start

        mean_rank, mean_ap = reconstruction(model, dataset.ancestors, eval_taxa)
        print(f"epoch {epoch:2d} lr {lr:.1f} loss {np.mean(losses):.4f} "
              f"rank {mean_rank:.1f} MAP {mean_ap:.3f} ({seconds:.1f}s, evaluation {time.time() - start - seconds:.1f}s)",
              flush=True)
        if mean_rank < best:
            best = mean_rank
            torch.save({"names": dataset.names, "table": model.table.weight.detach()}, args.checkpoint)


if __name__ == "__main__":
    main()
