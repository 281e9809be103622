"""Read dates from postmarks."""
import argparse
import time

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from reader import DateReader, count_correct
from strips import StripDataset


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="strips")
    p.add_argument("--epochs", type=int, default=18)
    p.add_argument("--batch-size", type=int, default=48)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--noise", type=float, default=0.05)
    p.add_argument("--seed", type=int, default=1)
    p.add_argument("--save", default="reader.pt")
    return p.parse_args()


def train_epoch(model, loader, optimizer, noise):
    model.train()
    total, digits, whole, seen = 0.0, 0, 0, 0
    for images, dates in loader:
        images = images + noise * torch.randn_like(images)
        logits = model(images)
        loss = F.cross_entropy(logits.flatten(0, 1), dates.flatten())

        optimizer.zero_grad()
        loss.backward()
        optimizer.step()

        d, w = count_correct(logits, dates)
        digits += d
        whole += w
        seen += len(dates)
        total += loss.item() * len(dates)
    return total / seen, digits / (seen * dates.size(1)), whole / seen


def evaluate(model, loader):
    model.eval()
    total, digits, whole, seen = 0.0, 0, 0, 0
    with torch.no_grad():
        for images, dates in loader:
            logits = model(images)
            total += F.cross_entropy(logits.flatten(0, 1), dates.flatten()).item() * len(dates)
            d, w = count_correct(logits, dates)
            digits += d
            whole += w
            seen += len(dates)
    return total / seen, digits / (seen * dates.size(1)), whole / seen


def main():
    args = parse_args()
    torch.manual_seed(args.seed)

    train_set = StripDataset(args.data, "train")
    val_set = StripDataset(args.data, "val")
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=1)

    model = DateReader()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)
    print(f"{len(train_set)} strips, {sum(p.numel() for p in model.parameters())} parameters")

    best = 0.0
    for epoch in range(1, args.epochs + 1):
        start = time.time()
        loss, digits, whole = train_epoch(model, train_loader, optimizer, args.noise)
        val_loss, val_digits, val_whole = evaluate(model, val_loader)
        scheduler.step()
        print(
            f"epoch {epoch:2d}  train loss {loss:.3f} digits {digits:.3f} dates {whole:.3f}  "
            f"val loss {val_loss:.3f} digits {val_digits:.3f} dates {val_whole:.3f}  {time.time() - start:.1f}s",
            flush=True,
        )
        if val_whole > best:
            best = val_whole
            torch.save({"model": model.state_dict(), "epoch": epoch}, args.save)


if __name__ == "__main__":
    main()
