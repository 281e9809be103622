"""Lesion segmentation on synthetic CT-like slices with a small U-Net."""
import argparse
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset

from augment import Augment
from metrics import SegmentationMeter
from unet import UNet


class Slices(Dataset):
    def __init__(self, count, size, seed, augment=None):
        rng = np.random.default_rng(seed)
        yy, xx = np.mgrid[0:size, 0:size] / size
        images = np.empty((count, 1, size, size), np.float32)
        masks = np.empty((count, 1, size, size), np.float32)
        for i in range(count):
            cx, cy = rng.uniform(0.35, 0.65, 2)
            body = ((xx - 0.5) / 0.46) ** 2 + ((yy - 0.5) / 0.4) ** 2 < 1
            r = np.hypot(xx - cx, yy - cy)
            theta = np.arctan2(yy - cy, xx - cx)
            edge = rng.uniform(0.16, 0.3) * (1 + 0.2 * np.sin(3 * theta + rng.uniform(0, 6)))
            lesion = r < edge
            image = 0.4 * body + 0.12 * lesion + rng.normal(0, 0.08, (size, size))
            images[i, 0] = np.clip(image + 0.1 * xx, 0, 1)
            masks[i, 0] = lesion & body
        self.images = torch.from_numpy(images)
        self.masks = torch.from_numpy(masks)
        self.augment = augment

    def __len__(self):
        return len(self.images)

    def __getitem__(self, i):
        image, mask = self.images[i], self.masks[i]
        if self.augment is not None:
            image, mask = self.augment(image, mask)
        return image, mask


def dice_bce(logits, target):
    bce = F.binary_cross_entropy_with_logits(logits, target)
    prob = torch.sigmoid(logits)
    inter = (prob * target).sum((1, 2, 3))
    total = prob.sum((1, 2, 3)) + target.sum((1, 2, 3))
    return bce + (1 - (2 * inter + 1) / (total + 1)).mean()


@torch.no_grad()
def validate(model, loader):
    model.eval()
    meter = SegmentationMeter()
    for image, mask in loader:
        meter.update(model(image), mask)
    model.train()
    return meter.summary()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--size", type=int, default=96)
    ap.add_argument("--train-slices", type=int, default=320)
    ap.add_argument("--val-slices", type=int, default=64)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--epochs", type=int, default=40)
    ap.add_argument("--base", type=int, default=8)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()

    torch.manual_seed(0)
    train_set = Slices(args.train_slices, args.size, seed=0, augment=Augment(args.size))
    val_set = Slices(args.val_slices, args.size, seed=1)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, 2 * args.batch_size)

    model = UNet(args.base)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4, fused=True)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    for epoch in range(args.epochs):
        tic = time.time()
        running = torch.zeros(())
        for image, mask in train_loader:
            loss = dice_bce(model(image), mask)
            opt.zero_grad()
            loss.backward()
            opt.step()
            running += loss.detach()
        sched.step()
        d, hd = validate(model, val_loader)
        print(f"epoch {epoch:02d} loss {running.item() / len(train_loader):.4f} dice {d:.4f} hd95 {hd:.2f} "
              f"[{time.time() - tic:.1f} s]", flush=True)


if __name__ == "__main__":
    main()
