"""Cover of two lichen species on rock faces: a small U-Net on crops of quadrat photographs."""
import argparse
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.checkpoint import checkpoint
from torch.utils.data import DataLoader, Dataset

ap = argparse.ArgumentParser()
ap.add_argument("--epochs", type=int, default=12)
ap.add_argument("--crops", type=int, default=480, help="crops drawn in one epoch")
ap.add_argument("--batch", type=int, default=6)
ap.add_argument("--crop", type=int, default=64)
ap.add_argument("--width", type=int, default=8)
ap.add_argument("--lr", type=float, default=2e-3)
ap.add_argument("--save-memory", action=argparse.BooleanOptionalAction, default=True)
args = ap.parse_args()

torch.manual_seed(7)
random.seed(7)
np.random.seed(7)


class Quadrats(Dataset):
    """Random crops; light, contrast and orientation differ from one visit to the next."""

    def __init__(self, photos, masks, length, train=True):
        self.photos, self.masks = photos, masks
        self.length, self.train = length, train

    def __len__(self):
        return self.length

    def augment(self, image, mask):
        gain = 1 + 0.2 * torch.randn(3, 1, 1)
        image = (image * gain + 0.05 * torch.randn(3, 1, 1)).clamp(0, 1)
        image = image ** random.uniform(0.8, 1.25)
        if random.random() < 0.5:
            image, mask = image.flip(-1), mask.flip(-1)
        turns = random.randrange(4)
        return torch.rot90(image, turns, (-2, -1)), torch.rot90(mask, turns, (-2, -1))

    def crop(self, image, mask):
        top = random.randint(0, image.shape[1] - args.crop)
        left = random.randint(0, image.shape[2] - args.crop)
        window = (slice(top, top + args.crop), slice(left, left + args.crop))
        return image[(slice(None), *window)], mask[window]

    def __getitem__(self, i):
        k = random.randrange(len(self.photos)) if self.train else i
        image = torch.from_numpy(self.photos[k]).permute(2, 0, 1).float() / 255
        mask = torch.from_numpy(self.masks[k]).long()
        if self.train:
            image, mask = self.augment(image, mask)
            image, mask = self.crop(image, mask)
        return image - 0.45, mask


def block(cin, cout):
    return nn.Sequential(
        nn.Conv2d(cin, cout, 3, padding=1), nn.GroupNorm(2, cout), nn.ReLU(),
        nn.Conv2d(cout, cout, 3, padding=1), nn.GroupNorm(2, cout), nn.ReLU(),
    )


class UNet(nn.Module):
    def __init__(self, width, classes=3, save_memory=False):
        super().__init__()
        self.save_memory = save_memory
        self.down = nn.ModuleList([block(3, width), block(width, 2 * width), block(2 * width, 4 * width)])
        self.up = nn.ModuleList([block(6 * width, 2 * width), block(3 * width, width)])
        self.head = nn.Conv2d(width, classes, 1)

    def run(self, module, x):
        if self.save_memory and self.training:
            return checkpoint(module, x, use_reentrant=False)
        return module(x)

    def forward(self, x):
        skips = []
        for i, stage in enumerate(self.down):
            if i:
                x = F.max_pool2d(x, 2)
            x = self.run(stage, x)
            skips.append(x)
        for stage, skip in zip(self.up, (skips[1], skips[0])):
            x = F.interpolate(x, scale_factor=2.0, mode="bilinear", align_corners=False)
            x = self.run(stage, torch.cat((x, skip), 1))
        return self.head(x)


def dice_loss(logits, target):
    probs = logits.softmax(1)
    onehot = F.one_hot(target, 3).permute(0, 3, 1, 2)
    both = (probs * onehot).sum((0, 2, 3))
    return 1 - (2 * both / (probs.sum((0, 2, 3)) + onehot.sum((0, 2, 3)) + 1)).mean()


@torch.no_grad()
def validate(model, loader):
    model.eval()
    table = torch.zeros(3, 3, dtype=torch.long)
    for image, mask in loader:
        guess = model(image).argmax(1)
        table += torch.bincount(mask.flatten() * 3 + guess.flatten(), minlength=9).view(3, 3)
    hit = table.diag().float()
    return (hit / (table.sum(0) + table.sum(1) - table.diag())).tolist()


def main():
    data = np.load("quadrats.npz")
    photos, masks = data["photos"], data["masks"]
    train = DataLoader(Quadrats(photos[:135], masks[:135], args.crops), batch_size=args.batch, drop_last=True)
    val = DataLoader(Quadrats(photos[135:], masks[135:], 15, train=False), batch_size=5)
    model = UNet(args.width, save_memory=args.save_memory)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    plan = torch.optim.lr_scheduler.OneCycleLR(opt, args.lr, total_steps=args.epochs * len(train))
    best = 0.0
    for epoch in range(args.epochs):
        model.train()
        total = torch.zeros(())
        for image, mask in train:
            logits = model(image)
            loss = F.cross_entropy(logits, mask) + dice_loss(logits, mask)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            opt.step()
            plan.step()
            total += loss.detach()
        if epoch % 3 == 2:
            iou = validate(model, val)
            print(f"epoch {epoch:2d}  loss {total.item() / len(train):.3f}  IoU rock/grey/orange", *(f"{v:.3f}" for v in iou))
            if min(iou) > best:
                best = min(iou)
                torch.save(model.state_dict(), "unet.pt")


if __name__ == "__main__":
    main()
