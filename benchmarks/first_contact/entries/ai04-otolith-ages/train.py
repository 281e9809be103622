"""Reads the age of a fish from a section of its otolith.

    python prepare.py
    python train.py --epochs 900
"""
import argparse
import copy
import csv
import time

import torch
from torch.utils.data import DataLoader

from data import OtolithSections, read_catch, split
from losses import cut_weights, ordinal_loss
from model import AgeReader, read_age

MAX_AGE = 30


def arguments():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=900)
    p.add_argument("--batch", type=int, default=16)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--average", type=float, default=0.99, help="decay of the averaged weights")
    p.add_argument("--seed", type=int, default=0)
    p.add_argument("--log", default="readings.csv")
    return p.parse_args()


def update_average(average, model, decay):
    with torch.no_grad():
        for a, p in zip(average.parameters(), model.parameters()):
            a.mul_(decay).add_(p, alpha=1 - decay)
        for a, b in zip(average.buffers(), model.buffers()):
            a.copy_(b)


@torch.no_grad()
def check(model, loader, weights):
    model.eval()
    loss, off, within = 0.0, 0, 0
    for x, covariates, readings in loader:
        logits = model(x, covariates)
        loss += ordinal_loss(logits, readings, weights).item() * len(readings)
        error = (read_age(logits) - readings.median(1).values).abs()
        off += error.sum().item()
        within += (error <= 1).sum().item()
    n = len(loader.dataset)
    return loss / n, off / n, within / n


def main():
    a = arguments()
    torch.manual_seed(a.seed)
    train_rows, held_rows = split(read_catch())
    train_set = OtolithSections(train_rows, augment=True)
    held_set = OtolithSections(held_rows)
    train_loader = DataLoader(train_set, batch_size=a.batch, shuffle=True, drop_last=True)
    held_loader = DataLoader(held_set)

    weights = cut_weights([r["readings"] for r in train_rows], MAX_AGE)
    model = AgeReader(MAX_AGE)
    average = copy.deepcopy(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=a.lr, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, a.epochs * len(train_loader))

    log = open(a.log, "w", newline="")
    table = csv.writer(log)
    table.writerow(["epoch", "step", "loss", "grad_norm"])
    for epoch in range(a.epochs):
        start = time.time()
        model.train()
        for step, (x, covariates, readings) in enumerate(train_loader):
            logits = model(x, covariates)
            loss = ordinal_loss(logits, readings, weights)
            optimizer.zero_grad()
            loss.backward()
            norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            schedule.step()
            update_average(average, model, a.average)
            table.writerow([epoch, step, f"{loss.item():.5f}", f"{norm.item():.4f}"])
            log.flush()
        held_loss, off, within = check(average, held_loader, weights)
        print(f"epoch {epoch:3d}  held-out loss {held_loss:.4f}  off by {off:.2f} years  "
              f"within one {100 * within:.1f}%  {time.time() - start:.2f} s", flush=True)
        if epoch % 20 == 19:
            torch.save(average.state_dict(), "reader.pt")
    log.close()


if __name__ == "__main__":
    main()
