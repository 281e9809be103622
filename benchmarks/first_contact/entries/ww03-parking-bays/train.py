"""Trains the detector of parked cars and vans.

    python train.py --epochs 9
"""
import argparse
import time
from collections import defaultdict

import torch

from detector import BayDetector
from evaluation import average_precision
from loss import DetectionLoss
from scenes import loaders


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", default=".")
    parser.add_argument("--epochs", type=int, default=9)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--width", type=int, default=24)
    parser.add_argument("--val-interval", type=int, default=3)
    parser.add_argument("--checkpoint", default="bays.pt")
    return parser.parse_args()


def main():
    args = parse_args()
    torch.manual_seed(1)
    train_loader, val_loader = loaders(args.data, args.batch_size)
    model = BayDetector(width=args.width)
    criterion = DetectionLoss(model.anchors.clone(), model.kinds)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    best = 0.0

    for epoch in range(1, args.epochs + 1):
        model.train()
        began = time.time()
        sums = defaultdict(float)
        for pictures, targets in train_loader:
            out = model(pictures)
            loss, parts = criterion(out, targets)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            optimizer.step()
            sums["loss"] += loss.item()
            for name, value in parts.items():
                sums[name] += value.item()
        scheduler.step()
        text = ", ".join(f"{name} {value / len(train_loader):.3f}" for name, value in sums.items())
        print(f"epoch {epoch}: {text} ({time.time() - began:.1f} s)")

        if epoch % args.val_interval == 0:
            score = average_precision(model, val_loader)
            print(f"  validation AP50 {score:.4f}")
            if score > best:
                best = score
                torch.save({"model": model.state_dict(), "epoch": epoch, "ap": score}, args.checkpoint)
    print(f"best AP50 {best:.4f}")


if __name__ == "__main__":
    main()
