import argparse
import csv
import random
from pathlib import Path

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class PatchEmbed(nn.Module):
    def __init__(self, patch, dim):
        super().__init__()
        self.patch = patch
        self.proj = nn.Linear(3 * patch * patch, dim)

    def forward(self, img):
        b, c, h, w = img.shape
        p = self.patch
        x = img.view(b, c, h // p, p, w // p, p).permute(0, 2, 4, 1, 3, 5).reshape(b, -1, c * p * p)
        return self.proj(x)


class Backbone(nn.Module):
    """Small ViT; its weights come from a checkpoint when one is given."""

    def __init__(self, size=64, patch=8, dim=96, depth=4, heads=4):
        super().__init__()
        self.embed = PatchEmbed(patch, dim)
        self.pos = nn.Parameter(torch.randn(1, (size // patch) ** 2, dim) * 0.02)
        self.blocks = nn.ModuleList(
            nn.TransformerEncoderLayer(dim, heads, 4 * dim, dropout=0.0, activation="gelu", batch_first=True, norm_first=True)
            for _ in range(depth)
        )
        self.norm = nn.LayerNorm(dim)
        self.dim = dim

    def forward(self, img):
        x = self.embed(img) + self.pos
        for block in self.blocks:
            x = block(x)
        return self.norm(x).mean(dim=1)


class Classifier(nn.Module):
    def __init__(self, backbone, classes):
        super().__init__()
        self.backbone = backbone
        self.head = nn.Sequential(nn.Linear(backbone.dim, 128), nn.ReLU(), nn.Dropout(0.2), nn.Linear(128, classes))

    def forward(self, img):
        return self.head(self.backbone(img))


def augment(x):
    if random.random() < 0.5:
        x = x.flip(-1)
    dy, dx = random.randint(-4, 4), random.randint(-4, 4)
    x = torch.roll(x, (dy, dx), dims=(-2, -1))
    gain = 1 + 0.2 * (torch.rand(len(x), 1, 1, 1) - 0.5)
    return x * gain


def textures(n, classes, size=64, seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    ramp = torch.arange(size) / size
    freq = (2 + 2 * y).float()[:, None, None] * 3.1416
    angle = (y.float() * 0.7)[:, None, None]
    phase = torch.rand(n, 1, 1, generator=g) * 6.28
    wave = torch.sin(freq * (ramp[None, None, :] * angle.cos() + ramp[None, :, None] * angle.sin()) * 2 + phase)
    tint = torch.rand(n, 3, 1, 1, generator=g)
    noise = 0.3 * torch.randn(n, 3, size, size, generator=g)
    return TensorDataset(wave.unsqueeze(1) * tint + noise, y)


@torch.no_grad()
def accuracy(model, loader):
    model.eval()
    ok = sum((model(x).argmax(1) == y).sum().item() for x, y in loader)
    model.train()
    return ok / len(loader.dataset)


def main():
    ap = argparse.ArgumentParser(description="train a new head on a pretrained backbone")
    ap.add_argument("--weights", type=Path)
    ap.add_argument("--classes", type=int, default=8)
    ap.add_argument("--epochs", type=int, default=7)
    ap.add_argument("--batch-size", type=int, default=16)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--log", type=Path, default=Path("finetune.csv"))
    args = ap.parse_args()
    torch.manual_seed(0)
    random.seed(0)

    backbone = Backbone()
    if args.weights:
        backbone.load_state_dict(torch.load(args.weights))
    model = Classifier(backbone, args.classes)
    train = DataLoader(textures(960, args.classes, seed=1), args.batch_size, shuffle=True, drop_last=True)
    test = DataLoader(textures(160, args.classes, seed=2), 32)

    # only the new head is trained
    optimizer = torch.optim.AdamW(model.head.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(train))
    rows = []
    for epoch in range(args.epochs):
        total = 0.0
        for x, y in train:
            loss = F.cross_entropy(model(augment(x)), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            total += loss.item()
        rows.append([epoch, round(total / len(train), 4), round(accuracy(model, test), 4)])
        print("epoch {} loss {} test {}".format(*rows[-1]))
    with args.log.open("w", newline="") as f:
        csv.writer(f).writerows([["epoch", "loss", "test"], *rows])


if __name__ == "__main__":
    main()
