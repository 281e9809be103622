"""Unrolled reconstruction of undersampled single-coil knee MRI."""
import argparse
import time

import numpy as np
import torch
from torch.utils.data import DataLoader

from metrics import psnr, ssim
from mri_data import KneeSlices
from unrolled import UnrolledNet


def build_parser():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--train", default="train")
    parser.add_argument("--val", default="val")
    parser.add_argument("--acceleration", type=int, default=4)
    parser.add_argument("--cascades", type=int, default=3)
    parser.add_argument("--width", type=int, default=16)
    parser.add_argument("--batch-size", type=int, default=4)
    parser.add_argument("--epochs", type=int, default=24)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--seed", type=int, default=0)
    return parser


def train_epoch(model, loader, optimizer, epoch):
    model.train()
    total = 0.0
    for it, (kspace, mask, image) in enumerate(loader):
        pred = model(kspace, mask)
        loss = (pred - image).abs().mean()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        total += loss.item()
        if it % 10 == 0:
            print(f"[{epoch}] {it:3d}/{len(loader)} l1 {loss.item():.4f}", flush=True)
    return total / len(loader)


def validate(model, loader):
    model.eval()
    scores = []
    with torch.no_grad():
        for kspace, mask, image in loader:
            pred = model(kspace, mask).abs().numpy()
            gt = image.abs().numpy()
            for g, p in zip(gt, pred):
                scores.append((psnr(g, p), ssim(g, p)))
    return np.mean(scores, axis=0)


def main():
    args = build_parser().parse_args()
    torch.manual_seed(args.seed)

    train_set = KneeSlices(args.train, args.acceleration)
    val_set = KneeSlices(args.val, args.acceleration, seed=1234)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size)

    model = UnrolledNet(args.cascades, args.width)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.StepLR(optimizer, 8, 0.3)
    print(f"{len(train_set)} train slices, {len(val_set)} val slices")

    best = 0.0
    for epoch in range(args.epochs):
        start = time.time()
        loss = train_epoch(model, train_loader, optimizer, epoch)
        p, s = validate(model, val_loader)
        scheduler.step()
        print(f"epoch {epoch} l1 {loss:.4f} val psnr {p:.2f} ssim {s:.4f} {time.time() - start:.1f}s", flush=True)
        if s > best:
            best = s
            torch.save({"epoch": epoch, "model": model.state_dict(), "ssim": s}, "best_model.pt")


if __name__ == "__main__":
    main()
