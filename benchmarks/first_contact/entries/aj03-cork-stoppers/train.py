import argparse
import csv
import time
from pathlib import Path

import torch
from torch import nn

from data import make_loaders
from metrics import Confusion
from model import CorkNet, count_parameters

GRADES = ["flor", "extra", "first", "second", "third"]


def train_epoch(model, loader, criterion, optimizer):
    model.train()
    running = 0.0
    for images, grades in loader:
        optimizer.zero_grad()
        logits = model(images)
        loss = criterion(logits, grades)
        loss.backward()
        optimizer.step()
        running += loss.item()
    return running / len(loader)


@torch.no_grad()
def evaluate(model, loader, criterion):
    model.eval()
    confusion = Confusion(len(GRADES))
    total = 0.0
    for images, grades in loader:
        logits = model(images)
        total += criterion(logits, grades).item() * len(grades)
        confusion.update(grades, logits.argmax(1))
    return total / confusion.matrix.sum().item(), confusion


def main():
    parser = argparse.ArgumentParser(description="Grade natural cork stoppers from one picture of the side")
    parser.add_argument("--root", default=str(Path(__file__).parent))
    parser.add_argument("--out", default=str(Path(__file__).parent / "runs"))
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--batch-size", type=int, default=16)
    parser.add_argument("--side", type=int, default=64)
    parser.add_argument("--lr", type=float, default=4e-4)
    parser.add_argument("--weight-decay", type=float, default=1e-4)
    parser.add_argument("--seed", type=int, default=11)
    args = parser.parse_args()

    torch.manual_seed(args.seed)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)

    train_loader, val_loader = make_loaders(args.root, args.batch_size, args.side)
    model = CorkNet(len(GRADES), side=args.side)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, weight_decay=args.weight_decay)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    print(f"{len(train_loader.dataset)} stoppers to train on, {count_parameters(model)} parameters")

    best = -1.0
    with open(out / "history.csv", "w", newline="") as handle:
        writer = csv.writer(handle)
        writer.writerow(["epoch", "loss", "train_loss", "train_acc", "val_loss", "val_acc", "val_kappa", "seconds"])
        for epoch in range(1, args.epochs + 1):
            start = time.time()
            loss = train_epoch(model, train_loader, criterion, optimizer)
            train_loss, train_confusion = evaluate(model, train_loader, criterion)
            val_loss, val_confusion = evaluate(model, val_loader, criterion)
            scheduler.step()
            seconds = time.time() - start
            writer.writerow(
                [epoch, loss, train_loss, train_confusion.accuracy(), val_loss, val_confusion.accuracy(),
                 val_confusion.kappa(), seconds]
            )
            handle.flush()
            print(
                f"epoch {epoch:3d}  loss {loss:.4f}  train {train_confusion.accuracy():.3f}  "
                f"val {val_confusion.accuracy():.3f}  kappa {val_confusion.kappa():.3f}  {seconds:.1f}s"
            )
            if val_confusion.kappa() > best:
                best = val_confusion.kappa()
                torch.save({"model": model.state_dict(), "epoch": epoch, "kappa": best}, out / "best.pt")

    print("best kappa", round(best, 3))
    for name, value in zip(GRADES, val_confusion.recall()):
        print(f"  {name:8} recall {value:.2f}")


if __name__ == "__main__":
    main()
