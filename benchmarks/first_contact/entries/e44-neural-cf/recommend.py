"""Neural collaborative filtering (GMF + MLP towers) on synthetic implicit feedback."""
import argparse
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

parser = argparse.ArgumentParser()
parser.add_argument("--users", type=int, default=3000)
parser.add_argument("--items", type=int, default=2500)
parser.add_argument("--dim", type=int, default=48)
parser.add_argument("--interactions", type=int, default=120000)
parser.add_argument("--negatives", type=int, default=4)
parser.add_argument("--batch", type=int, default=1024)
parser.add_argument("--epochs", type=int, default=9)
parser.add_argument("--lr", type=float, default=2e-3)


def synth(args, seed=3):
    rng = np.random.default_rng(seed)
    taste, kind = rng.normal(size=(args.users, 6)), rng.normal(size=(args.items, 6))
    popularity = rng.normal(size=args.items)
    users = rng.integers(0, args.users, args.interactions * 6)
    items = rng.integers(0, args.items, args.interactions * 6)
    score = (taste[users] * kind[items]).sum(1) + popularity[items]
    keep = np.argsort(-(score + rng.gumbel(size=len(score))))[: args.interactions]
    rng.shuffle(keep)
    pairs = torch.from_numpy(np.stack([users[keep], items[keep]], 1))
    n_test = 2000
    return pairs[n_test:], pairs[:n_test]


class NeuralCF(nn.Module):
    def __init__(self, users, items, dim):
        super().__init__()
        self.user_gmf, self.item_gmf = nn.Embedding(users, dim), nn.Embedding(items, dim)
        self.user_mlp, self.item_mlp = nn.Embedding(users, dim), nn.Embedding(items, dim)
        for e in (self.user_gmf, self.item_gmf, self.user_mlp, self.item_mlp):
            nn.init.normal_(e.weight, std=0.05)
        self.from_user = nn.Linear(dim, 256)
        self.from_item = nn.Linear(dim, 256, bias=False)
        self.mlp = nn.Sequential(
            nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 256), nn.ReLU(), nn.Linear(256, 64), nn.ReLU())
        self.out = nn.Linear(64 + dim, 1)

    def forward(self, users, items):
        """users (n, 1) against items (n, m): scores (n, m)."""
        gmf = self.user_gmf(users) * self.item_gmf(items)
        deep = self.mlp(self.from_user(self.user_mlp(users)) + self.from_item(self.item_mlp(items)))
        return self.out(torch.cat([gmf, deep], dim=-1)).squeeze(-1)


@torch.inference_mode()
def hit_rate(model, test, n_items, k=10, others=49):
    """Rank the held-out item among random others for every test user."""
    model.eval()
    hits = 0
    for chunk in test[:500].split(250):
        candidates = torch.cat([chunk[:, 1:], torch.randint(n_items, (len(chunk), others))], 1)
        scores = model(chunk[:, :1], candidates)
        rank = (scores[:, 1:] > scores[:, :1]).sum(1)
        hits += int((rank < k).sum())
    model.train()
    return hits / 500


def main():
    args = parser.parse_args()
    torch.manual_seed(0)
    train, test = synth(args)
    model = NeuralCF(args.users, args.items, args.dim)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, fused=True)
    labels = torch.zeros(args.batch, args.negatives + 1)
    labels[:, 0] = 1.0

    steps_per_epoch = len(train) // args.batch
    losses = []
    for epoch in range(args.epochs):
        t0 = time.time()
        for batch in train[torch.randperm(len(train))].split(args.batch)[:steps_per_epoch]:
            negatives = torch.randint(args.items, (len(batch), args.negatives))
            items = torch.cat([batch[:, 1:], negatives], dim=1)
            loss = F.binary_cross_entropy_with_logits(model(batch[:, :1], items), labels)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.item())
        print(f"epoch {epoch + 1}: loss {np.mean(losses[-steps_per_epoch:]):.4f}  "
              f"hit@10 {hit_rate(model, test, args.items):.3f}  {time.time() - t0:.1f}s")


if __name__ == "__main__":
    main()
