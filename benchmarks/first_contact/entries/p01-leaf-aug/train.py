import argparse
import random
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


def random_erase(img, rng, n_spots=12):
    h, w, _ = img.shape
    out = img.copy()
    for _ in range(n_spots):
        cy, cx = rng.randrange(h), rng.randrange(w)
        r = rng.randint(3, 5)
        for y in range(max(0, cy - r), min(h, cy + r + 1)):
            for x in range(max(0, cx - r), min(w, cx + r + 1)):
                if (y - cy) ** 2 + (x - cx) ** 2 <= r * r:
                    out[y, x] = 0
    return out


def flip(img, rng):
    if rng.random() < 0.5:
        img = img[:, ::-1]
    return img


class Leaves(Dataset):
    """Synthetic leaf photographs, HWC uint8."""

    def __init__(self, n, train=True, seed=0):
        g = np.random.default_rng(seed)
        self.labels = g.integers(0, 10, n)
        self.imgs = g.integers(0, 255, (n, 48, 48, 3), dtype=np.uint8)
        self.train = train
        self.rng = random.Random(seed)

    def __len__(self):
        return len(self.labels)

    def __getitem__(self, i):
        img = self.imgs[i]
        if self.train:
            img = random_erase(img, self.rng)
            img = flip(img, self.rng)
        x = torch.from_numpy(np.ascontiguousarray(img)).permute(2, 0, 1).float().div_(255)
        return x, int(self.labels[i])


class Net(nn.Module):
    def __init__(self, classes=10):
        super().__init__()
        layers, c = [], 3
        for o in (32, 48, 96):
            layers += [nn.Conv2d(c, o, 3, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True), nn.MaxPool2d(2)]
            c = o
        self.body = nn.Sequential(*layers)
        self.head = nn.Linear(c, classes)

    def forward(self, x):
        return self.head(self.body(x).mean((2, 3)))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=3)
    ap.add_argument("--batch-size", type=int, default=32)
    ap.add_argument("--lr", type=float, default=1e-3)
    args = ap.parse_args()
    torch.manual_seed(0)

    train = DataLoader(Leaves(32 * 60), batch_size=args.batch_size, shuffle=True, drop_last=True)
    val = DataLoader(Leaves(128, train=False, seed=1), batch_size=64)
    model = Net()
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    for epoch in range(args.epochs):
        model.train()
        t0, seen, total = time.time(), 0, 0.0
        for x, y in train:
            loss = F.cross_entropy(model(x), y)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item() * len(y)
            seen += len(y)
        model.eval()
        with torch.no_grad():
            acc = sum((model(x).argmax(1) == y).sum().item() for x, y in val) / 128
        print(f"epoch {epoch} loss {total / seen:.4f} val acc {acc:.3f} {time.time() - t0:.1f}s")


if __name__ == "__main__":
    main()
