"""Fit the cell atlas model and report how well its latent space keeps cell types together."""
import argparse
import json
import logging
import time
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader

from cells import simulate, split
from model import CellVAE

log = logging.getLogger("atlas")


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--cells", type=int, default=8000)
    p.add_argument("--genes", type=int, default=2000)
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--steps", type=int, default=0, help="stop after so many steps")
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--warmup", type=int, default=300, help="steps until the divergence counts in full")
    p.add_argument("--eval-every", type=int, default=3, help="epochs")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--out", type=Path, default=Path("runs"))
    return p.parse_args()


class Trainer:
    def __init__(self, args):
        self.args = args
        counts, batch, kind = simulate(args.cells, args.genes)
        train, test, self.kind = split(counts, batch, kind)
        density = counts.nnz / np.prod(counts.shape)
        log.info("%d cells, %d genes, %.1f %% of the counts not zero", *counts.shape, 100 * density)
        self.train = DataLoader(train, batch_size=args.batch_size, shuffle=True, drop_last=True)
        self.test = DataLoader(test, batch_size=256)
        self.model = CellVAE(args.genes, int(batch.max()) + 1)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=args.lr, weight_decay=1e-6, fused=True)
        self.step = 0
        self.history = []

    def fit(self):
        for epoch in range(1, self.args.epochs + 1):
            start, total = time.time(), 0.0
            for counts, batch in self.train:
                total += self.update(counts, batch)
                if self.step == self.args.steps:
                    return
            row = {"epoch": epoch, "loss": float(total) / len(self.train)}
            if epoch % self.args.eval_every == 0:
                row.update(self.evaluate())
                torch.save(self.model.state_dict(), self.args.out / "model.pt")
            log.info("epoch %d (%.1f s) %s", epoch, time.time() - start,
                     " ".join(f"{k} {v:.3f}" for k, v in row.items() if k != "epoch"))
            self.history.append(row)

    def update(self, counts, batch):
        self.step += 1
        reconstruction, divergence = self.model(counts, batch)
        loss = reconstruction + min(1.0, self.step / self.args.warmup) * divergence
        self.optimizer.zero_grad()
        loss.backward()
        self.optimizer.step()
        if self.step % 50 == 0:
            log.info("step %d reconstruction %.3f divergence %.3f", self.step, reconstruction.item(), divergence.item())
        return loss.detach()

    @torch.no_grad()
    def evaluate(self):
        self.model.eval()
        bound, means = 0.0, []
        for counts, batch in self.test:
            reconstruction, divergence = self.model(counts, batch)
            bound += (reconstruction + divergence) * len(counts)
            run = torch.nn.functional.one_hot(batch, self.model.batches).float()
            means.append(self.model.encode(counts, run)[0])
        self.model.train()
        z = torch.cat(means)
        near = torch.cdist(z, z).topk(16, largest=False).indices[:, 1:]
        kind = torch.as_tensor(self.kind)
        purity = (kind[near] == kind.unsqueeze(1)).float().mean()
        return {"test_bound": float(bound) / len(z), "purity": purity.item()}


def main():
    args = parse()
    logging.basicConfig(level=logging.INFO, format="%(message)s")
    torch.manual_seed(args.seed)
    args.out.mkdir(exist_ok=True)
    trainer = Trainer(args)
    trainer.fit()
    (args.out / "history.json").write_text(json.dumps(trainer.history, indent=1))


if __name__ == "__main__":
    main()
