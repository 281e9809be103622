"""Classify pollen grains on microscope slides."""
import argparse
import time

import torch
import torch.nn as nn
from torch.utils.data import DataLoader

from net import PollenNet
from slides import SlideGrains, split_slides

TAXA = 12


def parse_args():
    parser = argparse.ArgumentParser()
    parser.add_argument("--slides", default="slides")
    parser.add_argument("--held-out", type=int, default=4)
    parser.add_argument("--batch-size", type=int, default=32)
    parser.add_argument("--epochs", type=int, default=20)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--log-every", type=int, default=16)
    parser.add_argument("--seed", type=int, default=1)
    return parser.parse_args()


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    table = torch.zeros(TAXA, TAXA, dtype=torch.long)
    for images, taxa in loader:
        guess = model(images).argmax(dim=1)
        table += torch.bincount(taxa * TAXA + guess, minlength=TAXA * TAXA).view(TAXA, TAXA)
    model.train()
    recall = table.diag() / table.sum(dim=1).clamp(min=1)
    return table.diag().sum().item() / table.sum().item(), recall


def main():
    args = parse_args()
    torch.manual_seed(args.seed)

    train_paths, val_paths = split_slides(args.slides, args.held_out)
    train_set = SlideGrains(train_paths, augment=True)
    val_set = SlideGrains(val_paths)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=128)

    model = PollenNet(TAXA)
    criterion = nn.CrossEntropyLoss(label_smoothing=0.05)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, T_max=args.epochs)
    print(f"{len(train_set)} training grains, {len(val_set)} held out")

    best = 0.0
    for epoch in range(args.epochs):
        began = time.time()
        for step, (images, taxa) in enumerate(train_loader, 1):
            optimizer.zero_grad()
            loss = criterion(model(images), taxa)
            loss.backward()
            optimizer.step()
            if step % args.log_every == 0:
                print(f"epoch {epoch:2d} step {step:3d}/{len(train_loader)} loss {loss.item():.4f}")
        scheduler.step()

        accuracy, recall = evaluate(model, val_loader)
        worst = int(recall.argmin())
        print(f"epoch {epoch:2d} accuracy {accuracy:.3f} worst taxon {worst} ({recall[worst]:.2f}) "
              f"{time.time() - began:.1f}s")
        if accuracy > best:
            best = accuracy
            torch.save(model.state_dict(), "pollen.pt")


if __name__ == "__main__":
    main()
