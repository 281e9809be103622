#!/usr/bin/env python
"""Train a two-tower retrieval model with a sampled softmax."""
import argparse
import itertools
import time

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from callbacks import HitRate, LossHistory
from collate import NegativeSampler
from interactions import InteractionDataset, leave_one_out, simulate_log
from towers import TwoTower


class Trainer:
    def __init__(self, model, loader, n_items, lr, callbacks):
        self.model, self.loader, self.n_items = model, loader, n_items
        self.optimizer = torch.optim.Adam(model.parameters(), lr=lr)
        self.callbacks = callbacks

    def batches(self):
        for _ in itertools.count():
            yield from self.loader

    def fit(self, steps):
        for step, batch in enumerate(itertools.islice(self.batches(), steps), start=1):
            loss = self.training_step(batch)
            for callback in self.callbacks:
                callback.on_step(self, step, loss)
        for callback in self.callbacks:
            callback.on_finish(self)

    def training_step(self, batch):
        logits = self.model(*batch)
        loss = F.cross_entropy(logits, logits.new_zeros(len(logits), dtype=torch.long))
        self.optimizer.zero_grad(set_to_none=True)
        loss.backward()
        self.optimizer.step()
        return loss


def main():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--users", type=int, default=30000)
    p.add_argument("--items", type=int, default=12000)
    p.add_argument("--per-user", type=int, default=12)
    p.add_argument("--batch-size", type=int, default=1024)
    p.add_argument("--negatives", type=int, default=6)
    p.add_argument("--steps", type=int, default=600)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--seed", type=int, default=0)
    args = p.parse_args()
    torch.manual_seed(args.seed)

    train, heldout = leave_one_out(simulate_log(args.users, args.items, args.per_user))
    dataset = InteractionDataset(train)
    sampler = NegativeSampler(train, args.items, args.negatives, args.seed)
    loader = DataLoader(dataset, args.batch_size, shuffle=True, drop_last=True, collate_fn=sampler)
    print(f"{len(dataset)} interactions, {len(loader)} batches an epoch")

    model = TwoTower(args.users, args.items)
    callbacks = [LossHistory(), HitRate(train, heldout, users=list(range(0, args.users, 60)))]
    trainer = Trainer(model, loader, args.items, args.lr, callbacks)
    started = time.time()
    trainer.fit(args.steps)
    print(f"{(time.time() - started) / args.steps * 1e3:.1f} ms a step")


if __name__ == "__main__":
    main()
