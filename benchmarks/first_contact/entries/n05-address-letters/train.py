"""Tells phishing addresses from honest ones by their characters."""
import argparse
import os
import random
import tempfile

import torch
from torch.nn import functional as F
from torch.utils.data import DataLoader

from addresses import collect
from dataset import AddressDataset
from metrics import BinaryReport
from network import AddressNet


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--train", type=int, default=9600)
    p.add_argument("--valid", type=int, default=1280)
    p.add_argument("--length", type=int, default=96)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--epochs", type=int, default=4)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--workers", type=int, default=0)
    p.add_argument("--patience", type=int, default=3)
    p.add_argument("--seed", type=int, default=8)
    p.add_argument("--out", default=os.path.join(tempfile.gettempdir(), "addresses.pt"))
    return p.parse_args()


def line(name, numbers):
    return name + "  " + "  ".join(f"{k} {v:.4f}" for k, v in numbers.items())


def train_epoch(model, loader, optimizer, weight):
    model.train()
    report = BinaryReport()
    for number, (letters, labels) in enumerate(loader, 1):
        logits = model(letters)
        loss = F.binary_cross_entropy_with_logits(logits, labels, pos_weight=weight)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        report.add(logits, labels, loss)
        if number % 50 == 0:
            print(f"  batch {number:4d}/{len(loader)}  loss {loss.item():.4f}")
    return report.summary()


@torch.inference_mode()
def validate(model, loader, weight):
    model.eval()
    report = BinaryReport()
    for letters, labels in loader:
        logits = model(letters)
        report.add(logits, labels, F.binary_cross_entropy_with_logits(logits, labels, pos_weight=weight))
    return report.summary()


def main():
    args = parse()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    random.seed(args.seed)
    train_set = AddressDataset(collect(args.train, args.seed), args.length)
    valid_set = AddressDataset(collect(args.valid, args.seed + 1), args.length)
    loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True, num_workers=args.workers,
                        persistent_workers=args.workers > 0)
    valid_loader = DataLoader(valid_set, 256, num_workers=args.workers, persistent_workers=args.workers > 0)
    share = train_set.positive_share()
    weight = torch.tensor((1 - share) / share)
    model = AddressNet(len(train_set.alphabet))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.8)
    best, since = 0.0, 0
    for epoch in range(1, args.epochs + 1):
        print(line(f"epoch {epoch} train", train_epoch(model, loader, optimizer, weight)))
        numbers = validate(model, valid_loader, weight)
        print(line(f"epoch {epoch} valid", numbers))
        schedule.step()
        if numbers["auc"] > best:
            best, since = numbers["auc"], 0
            torch.save({"model": model.state_dict(), "alphabet": train_set.alphabet}, args.out)
        else:
            since += 1
            if since >= args.patience:
                print("no better, stopping")
                break
    print(f"best auc {best:.4f}")


if __name__ == "__main__":
    main()
