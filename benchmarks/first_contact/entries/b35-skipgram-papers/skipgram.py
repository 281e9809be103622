import argparse
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, IterableDataset


class PairStream(IterableDataset):
    """yields ready batches (center, context, negatives) from a topic-ish random walk over a vocabulary of entities"""

    def __init__(self, vocab, batch, negatives, n_batches, seed=0):
        self.vocab, self.batch, self.neg, self.n_batches = vocab, batch, negatives, n_batches
        self.seed = seed
        freq = 1.0 / np.arange(1, vocab + 1) ** 0.75
        self.cum = np.cumsum(freq / freq.sum())

    def draw(self, rng, shape):
        return np.minimum(np.searchsorted(self.cum, rng.random(shape)), self.vocab - 1)

    def __iter__(self):
        rng = np.random.default_rng(self.seed)
        for _ in range(self.n_batches):
            c = self.draw(rng, self.batch)
            ctx = (c + rng.integers(-5, 6, self.batch)) % self.vocab
            neg = self.draw(rng, (self.batch, self.neg))
            yield torch.from_numpy(c), torch.from_numpy(ctx), torch.from_numpy(neg)

    def __len__(self):
        return self.n_batches


class SkipGram(nn.Module):
    def __init__(self, vocab, dim):
        super().__init__()
        self.center = nn.Embedding(vocab, dim)
        self.context = nn.Embedding(vocab, dim)
        nn.init.uniform_(self.center.weight, -0.5 / dim, 0.5 / dim)
        nn.init.zeros_(self.context.weight)

    def forward(self, c, ctx, neg):
        v = self.center(c)
        pos = (v * self.context(ctx)).sum(1)
        negs = torch.bmm(self.context(neg), v.unsqueeze(2)).squeeze(2)
        return -(F.logsigmoid(pos) + F.logsigmoid(-negs).sum(1)).mean()


def neighbours(model, ids, k=5):
    with torch.no_grad():
        w = F.normalize(model.center.weight, dim=1)
        return (w[ids] @ w.T).topk(k + 1).indices[:, 1:]


def main():
    ap = argparse.ArgumentParser(description="entity embeddings")
    ap.add_argument("--vocab", type=int, default=24000)
    ap.add_argument("--dim", type=int, default=64)
    ap.add_argument("--batch-size", type=int, default=1024)
    ap.add_argument("--negatives", type=int, default=5)
    ap.add_argument("--batches", type=int, default=400)
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--save", default="entities.npy")
    args = ap.parse_args()
    torch.manual_seed(0)

    stream = PairStream(args.vocab, args.batch_size, args.negatives, args.batches)
    loader = DataLoader(stream, batch_size=None)
    model = SkipGram(args.vocab, args.dim)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)

    for epoch in range(args.epochs):
        started, running = time.time(), 0.0
        for i, (c, ctx, neg) in enumerate(loader):
            optimizer.zero_grad()
            loss = model(c, ctx, neg)
            loss.backward()
            optimizer.step()
            running = loss.item() if i == 0 else 0.95 * running + 0.05 * loss.item()
            if i % 40 == 0:
                print(f"epoch {epoch} [{i}/{len(stream)}] loss {running:.4f}")
        print(f"epoch {epoch} done in {time.time() - started:.1f}s, neighbours of 10: {neighbours(model, torch.tensor([10])).tolist()[0]}")
    np.save(args.save, model.center.weight.detach().numpy())


if __name__ == "__main__":
    main()
