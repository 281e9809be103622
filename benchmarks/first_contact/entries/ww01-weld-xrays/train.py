"""Trains a classifier of weld defects on radiographs.

    python train.py --root . --epochs 6
"""
import argparse
import random
import time

import torch
from torch import nn

from model import WeldNet
from welddata import CLASSES, build_loaders


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--root", default=".")
    parser.add_argument("--size", type=int, default=112)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--epochs", type=int, default=6)
    parser.add_argument("--lr", type=float, default=0.02)
    parser.add_argument("--weight-decay", type=float, default=5e-4)
    parser.add_argument("--workers", type=int, default=0)
    parser.add_argument("--val-every", type=int, default=2)
    parser.add_argument("--out", default="weldnet.pt")
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


class Meter:
    def __init__(self):
        self.total, self.count = 0.0, 0

    def update(self, value, n):
        self.total += value * n
        self.count += n

    @property
    def mean(self):
        return self.total / max(1, self.count)


def train_epoch(model, loader, criterion, optimizer, scheduler, device):
    model.train()
    meter = Meter()
    for images, labels in loader:
        images, labels = images.to(device), labels.to(device)
        loss = criterion(model(images), labels)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        scheduler.step()
        meter.update(loss.item(), labels.size(0))
    return meter.mean


@torch.no_grad()
def evaluate(model, loader, device):
    """Confusion matrix, rows: truth, columns: prediction."""
    model.eval()
    matrix = torch.zeros(len(CLASSES), len(CLASSES), dtype=torch.long)
    for images, labels in loader:
        predicted = model(images.to(device)).argmax(1).cpu()
        matrix += torch.bincount(labels * len(CLASSES) + predicted, minlength=len(CLASSES) ** 2).view_as(matrix)
    return matrix


def accuracy(matrix):
    return matrix.diag().sum().item() / max(1, matrix.sum().item())


def report(matrix):
    for index, name in enumerate(CLASSES):
        hit = matrix[index, index].item()
        recall = hit / max(1, matrix[index].sum().item())
        precision = hit / max(1, matrix[:, index].sum().item())
        print(f"    {name:16s} precision {precision:.3f} recall {recall:.3f}")


def main():
    args = parse_args()
    random.seed(args.seed)
    torch.manual_seed(args.seed)
    device = torch.device("cuda" if torch.cuda.is_available() else "cpu")

    train_loader, val_loader = build_loaders(args.root, args.size, args.batch_size, args.workers)
    counts = train_loader.dataset.class_counts()
    weights = (counts.sum() / (counts * len(CLASSES))).sqrt()

    model = WeldNet(len(CLASSES)).to(device)
    criterion = nn.CrossEntropyLoss(weight=weights.to(device), label_smoothing=0.05)
    optimizer = torch.optim.SGD(
        model.parameters(), lr=args.lr, momentum=0.9, weight_decay=args.weight_decay, nesterov=True
    )
    scheduler = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=args.lr, total_steps=args.epochs * len(train_loader)
    )
    print(f"{sum(p.numel() for p in model.parameters()):,} parameters, {len(train_loader)} steps an epoch")

    best = 0.0
    for epoch in range(args.epochs):
        began = time.time()
        loss = train_epoch(model, train_loader, criterion, optimizer, scheduler, device)
        train_accuracy = accuracy(evaluate(model, train_loader, device))
        print(f"epoch {epoch}: loss {loss:.4f} train accuracy {train_accuracy:.3f} ({time.time() - began:.1f} s)")
        if (epoch + 1) % args.val_every == 0:
            matrix = evaluate(model, val_loader, device)
            print(f"  validation accuracy {accuracy(matrix):.3f}")
            report(matrix)
            if accuracy(matrix) > best:
                best = accuracy(matrix)
                torch.save({"model": model.state_dict(), "epoch": epoch, "args": vars(args)}, args.out)
    print(f"best validation accuracy {best:.3f}")


if __name__ == "__main__":
    main()
