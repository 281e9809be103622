"""Claim probability from a table: shared embedding table, residual MLP, AUC after every epoch."""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

from data import CARDINALITIES, ClaimTable


class ResidualBlock(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1 = nn.Linear(dim, dim)
        self.fc2 = nn.Linear(dim, dim)

    def forward(self, x):
        return x + self.fc2(F.relu(self.fc1(self.norm(x))))


class ClaimNet(nn.Module):
    def __init__(self, numeric, embed_dim, hidden, blocks):
        super().__init__()
        self.embed = nn.Embedding(sum(CARDINALITIES), embed_dim)
        self.inp = nn.Linear(numeric + embed_dim * len(CARDINALITIES), hidden)
        self.blocks = nn.Sequential(*(ResidualBlock(hidden) for _ in range(blocks)))
        self.out = nn.Linear(hidden, 1)

    def forward(self, cats, nums):
        x = torch.cat([nums, self.embed(cats).flatten(1)], 1)
        return self.out(F.relu(self.blocks(self.inp(x)))).squeeze(1)


def auc(score, label):
    rank = torch.empty(len(score), dtype=torch.float64)
    rank[score.argsort()] = torch.arange(1, len(score) + 1, dtype=torch.float64)
    pos = label > 0.5
    n1 = pos.sum().double()
    n0 = len(label) - n1
    return ((rank[pos].sum() - n1 * (n1 + 1) / 2) / (n1 * n0)).item()


@torch.inference_mode()
def evaluate(model, table, batch_size):
    model.eval()
    with torch.autocast("cpu", torch.bfloat16):
        scores = [model(cats, nums).float() for cats, nums, _ in table.batches(batch_size, shuffle=False)]
    model.train()
    return auc(torch.cat(scores), table.label)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--rows", type=int, default=102_400)
    ap.add_argument("--val-rows", type=int, default=10_000)
    ap.add_argument("--batch-size", type=int, default=512)
    ap.add_argument("--embed-dim", type=int, default=16)
    ap.add_argument("--hidden", type=int, default=256)
    ap.add_argument("--blocks", type=int, default=3)
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--lr", type=float, default=1e-3)
    args = ap.parse_args()

    torch.manual_seed(0)
    train = ClaimTable(args.rows, seed=1)
    val = ClaimTable(args.val_rows, seed=2, stats=train.stats)
    model = ClaimNet(train.nums.shape[1], args.embed_dim, args.hidden, args.blocks)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-2, fused=True)
    per_epoch = args.rows // args.batch_size
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.epochs * per_epoch)
    pos_weight = (len(train) - train.label.sum()) / train.label.sum()

    for epoch in range(args.epochs):
        tic = time.time()
        running = torch.zeros(())
        for cats, nums, label in train.batches(args.batch_size, shuffle=True):
            with torch.autocast("cpu", torch.bfloat16):
                logits = model(cats, nums)
            loss = F.binary_cross_entropy_with_logits(logits.float(), label, pos_weight=pos_weight)
            opt.zero_grad()
            loss.backward()
            opt.step()
            sched.step()
            running += loss.detach()
        score = evaluate(model, val, 1000)
        print(f"epoch {epoch:2d} loss {running.item() / per_epoch:.4f} val auc {score:.4f} "
              f"[{time.time() - tic:.1f} s]", flush=True)


if __name__ == "__main__":
    main()
