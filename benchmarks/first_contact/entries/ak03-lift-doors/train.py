"""Fault code and wear of lift doors from one open/close cycle of the drive."""

import argparse
import csv
import time
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

from data import FAULTS, DoorCycles, Collate, Scaler, load_table, split_table
from model import DoorNet

HERE = Path(__file__).parent


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default=str(HERE / "data"))
    p.add_argument("--out", default=str(HERE / "runs"))
    p.add_argument("--epochs", type=int, default=12)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--unit-buckets", type=int, default=2 ** 15)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--weight-decay", type=float, default=0.01)
    p.add_argument("--wear-weight", type=float, default=2.0)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--seed", type=int, default=7)
    return p.parse_args()


def class_weights(table):
    counts = table["fault"].value_counts().reindex(FAULTS).to_numpy()
    weights = torch.tensor(counts.sum() / (len(FAULTS) * counts), dtype=torch.float32)
    return weights.clamp(max=5.0)


class Objective(nn.Module):
    def __init__(self, weights, wear_weight):
        super().__init__()
        self.register_buffer("weights", weights)
        self.wear_weight = wear_weight

    def forward(self, outputs, batch):
        logits, wear = outputs
        fault = F.cross_entropy(logits, batch["fault"], weight=self.weights, label_smoothing=0.05)
        return fault + self.wear_weight * F.smooth_l1_loss(wear, batch["wear"], beta=0.1)


@torch.no_grad()
def validate(model, loader):
    model.eval()
    confusion = torch.zeros(len(FAULTS), len(FAULTS), dtype=torch.long)
    error, seen = 0.0, 0
    for batch in loader:
        logits, wear = model(batch)
        cell = batch["fault"] * len(FAULTS) + logits.argmax(1)
        confusion += torch.bincount(cell, minlength=len(FAULTS) ** 2).view_as(confusion)
        error += (wear - batch["wear"]).abs().sum().item()
        seen += len(wear)
    model.train()
    hit = confusion.diag().float()
    f1 = 2 * hit / (confusion.sum(0) + confusion.sum(1)).clamp(min=1)
    return f1.mean().item(), error / seen


def main():
    args = parse()
    torch.manual_seed(args.seed)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)

    train_table, val_table = split_table(load_table(args.data), 0.2, args.seed)
    scaler = Scaler(train_table)
    train_set = DoorCycles(args.data, train_table, scaler, args.unit_buckets, augment=True, seed=args.seed)
    val_set = DoorCycles(args.data, val_table, scaler, args.unit_buckets)
    train_loader = DataLoader(
        train_set, batch_size=args.batch_size, shuffle=True, drop_last=True,
        collate_fn=Collate(train_set, DoorNet.stride),
    )
    val_loader = DataLoader(val_set, batch_size=96, collate_fn=Collate(val_set, DoorNet.stride))

    model = DoorNet(args.unit_buckets)
    objective = Objective(class_weights(train_table), args.wear_weight)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=args.lr, total_steps=args.epochs * len(train_loader), pct_start=0.1
    )

    best = 0.0
    with open(out / "log.csv", "w", newline="") as handle:
        log = csv.writer(handle)
        log.writerow(["epoch", "loss", "val_f1", "val_wear_mae", "lr", "seconds"])
        for epoch in range(args.epochs):
            began = time.perf_counter()
            total = 0.0
            for batch in train_loader:
                optimizer.zero_grad()
                loss = objective(model(batch), batch)
                loss.backward()
                nn.utils.clip_grad_norm_(model.parameters(), args.clip)
                optimizer.step()
                schedule.step()
                total += loss.item()
            f1, mae = validate(model, val_loader)
            seconds = time.perf_counter() - began
            row = [epoch, total / len(train_loader), f1, mae, schedule.get_last_lr()[0], seconds]
            log.writerow([f"{v:.5g}" if isinstance(v, float) else v for v in row])
            print(f"epoch {epoch:2d}  loss {row[1]:.4f}  f1 {f1:.3f}  wear mae {mae:.4f}  {seconds:.1f} s", flush=True)
            if f1 > best:
                best = f1
                torch.save({"model": model.state_dict(), "args": vars(args)}, out / "best.pt")


if __name__ == "__main__":
    main()
