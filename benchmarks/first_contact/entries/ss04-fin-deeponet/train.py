"""Surrogate for the temperature of a cooling fin: heat load -> field, DeepONet."""
import argparse
import logging
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch

from operator_net import DeepONet

log = logging.getLogger("fin")


@dataclass
class FinData:
    loads: torch.Tensor
    fields: torch.Tensor
    grid: torch.Tensor
    offset: float
    spread: float

    @classmethod
    def read(cls, path, rows, offset=None, spread=None):
        with np.load(path) as f:
            loads, fields, grid = f["loads"][rows], f["fields"][rows], f["grid"]
        offset = float(fields.mean()) if offset is None else offset
        spread = float(fields.std()) if spread is None else spread
        fields = (fields - offset) / spread
        return cls(torch.from_numpy(loads), torch.from_numpy(fields), torch.from_numpy(grid), offset, spread)

    def __len__(self):
        return len(self.loads)

    def batches(self, size):
        """Random loads, and for each batch a random subset of grid points."""
        order = torch.randperm(len(self))
        for i in range(0, len(order) - size + 1, size):
            yield order[i:i + size]


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data/fin.npz")
    p.add_argument("--out", default="runs")
    p.add_argument("--epochs", type=int, default=150)
    p.add_argument("--batch-size", type=int, default=128)
    p.add_argument("--points", type=int, default=768)
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--val", type=int, default=300)
    p.add_argument("--eval-every", type=int, default=2)
    return p.parse_args()


@torch.inference_mode()
def relative_error(model, data):
    """Mean relative L2 error of the whole field, in kelvin above ambient."""
    model.eval()
    pred = model(data.loads, data.grid) * data.spread + data.offset
    true = data.fields * data.spread + data.offset
    model.train()
    return ((pred - true).norm(dim=1) / true.norm(dim=1)).mean().item()


def train_epoch(model, data, optimizer, schedule, args):
    total = torch.zeros(())
    count = 0
    for rows in data.batches(args.batch_size):
        cols = torch.randperm(len(data.grid))[:args.points]
        target = data.fields[rows].index_select(1, cols)
        pred = model(data.loads[rows], data.grid[cols])
        loss = torch.nn.functional.mse_loss(pred, target)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.detach()
        count += 1
    return (total / count).item()


def main():
    args = parse_args()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(1)
    out = Path(args.out)
    out.mkdir(exist_ok=True)

    train = FinData.read(args.data, slice(args.val, None))
    val = FinData.read(args.data, slice(0, args.val), train.offset, train.spread)
    model = DeepONet(train.loads.shape[1])
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, fused=True)
    steps = args.epochs * (len(train) // args.batch_size)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, steps)
    log.info("%d loads, %d parameters", len(train), sum(p.numel() for p in model.parameters()))

    best = float("inf")
    for epoch in range(1, args.epochs + 1):
        started = time.time()
        loss = train_epoch(model, train, optimizer, schedule, args)
        log.info("epoch %d mse %.5f %.1f s", epoch, loss, time.time() - started)
        if epoch % args.eval_every == 0:
            error = relative_error(model, val)
            log.info("epoch %d relative error %.4f", epoch, error)
            if error < best:
                best = error
                torch.save(model.state_dict(), out / "best.pt")


if __name__ == "__main__":
    main()
