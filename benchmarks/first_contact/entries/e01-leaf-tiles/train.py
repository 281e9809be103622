"""Small convolutional classifier for 32x32 leaf tiles (healthy / rust / blight / mildew)."""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, Dataset


def make_tiles(n, size, seed):
    g = torch.Generator().manual_seed(seed)
    labels = torch.randint(0, 4, (n,), generator=g)
    ys, xs = torch.meshgrid(torch.linspace(-1, 1, size), torch.linspace(-1, 1, size), indexing="ij")
    freq = torch.tensor([2.0, 5.0, 9.0, 14.0])[labels].view(-1, 1, 1)
    angle = (torch.rand(n, generator=g) * 3.14).view(-1, 1, 1)
    wave = torch.sin(freq * (xs * torch.cos(angle) + ys * torch.sin(angle)))
    tint = torch.rand(n, 3, 1, 1, generator=g)
    tiles = 0.5 + 0.25 * wave.unsqueeze(1) * tint + 0.15 * torch.randn(n, 3, size, size, generator=g)
    return (tiles.clamp(0, 1) * 255).to(torch.uint8), labels


class LeafTiles(Dataset):
    mean = torch.tensor([0.485, 0.456, 0.406]).view(3, 1, 1)
    std = torch.tensor([0.229, 0.224, 0.225]).view(3, 1, 1)

    def __init__(self, tiles, labels, train):
        self.tiles = tiles
        self.labels = labels
        self.train = train

    def __len__(self):
        return len(self.tiles)

    def __getitem__(self, i):
        tile = self.tiles[i].float().div_(255)
        if self.train and torch.rand(()) < 0.5:
            tile = tile.flip(-1)
        return (tile - self.mean) / self.std, self.labels[i]


class LeafNet(nn.Module):
    def __init__(self, classes=4, width=12):
        super().__init__()
        layers, cin = [], 3
        for cout in (width, width * 2, width * 4):
            layers += [nn.Conv2d(cin, cout, 3, padding=1, bias=False), nn.BatchNorm2d(cout),
                       nn.ReLU(inplace=True), nn.MaxPool2d(2)]
            cin = cout
        self.features = nn.Sequential(*layers)
        self.head = nn.Linear(cin, classes)

    def forward(self, x):
        return self.head(self.features(x).mean(dim=(2, 3)))


@torch.no_grad()
def validate(model, loader):
    model.eval()
    correct = total = 0
    for x, y in loader:
        correct += (model(x).argmax(1) == y).sum().item()
        total += len(y)
    model.train()
    return correct / total


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--train-tiles", type=int, default=1280)
    p.add_argument("--val-tiles", type=int, default=256)
    p.add_argument("--lr", type=float, default=0.05)
    p.add_argument("--workers", type=int, default=2)
    args = p.parse_args()

    torch.manual_seed(7)
    train_set = LeafTiles(*make_tiles(args.train_tiles, 32, 1), train=True)
    val_set = LeafTiles(*make_tiles(args.val_tiles, 32, 2), train=False)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True,
                              drop_last=True, num_workers=args.workers)
    val_loader = DataLoader(val_set, batch_size=128, num_workers=args.workers)

    model = LeafNet()
    optimizer = torch.optim.SGD(model.parameters(), lr=args.lr, momentum=0.9, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.epochs * len(train_loader))

    for epoch in range(args.epochs):
        began, seen, running = time.time(), 0, 0.0
        for x, y in train_loader:
            loss = F.cross_entropy(model(x), y)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            schedule.step()
            running += loss.item() * len(y)
            seen += len(y)
        accuracy = validate(model, val_loader)
        print(f"epoch {epoch:02d}  loss {running / seen:.4f}  val acc {accuracy:.3f}  {time.time() - began:.1f}s")


if __name__ == "__main__":
    main()
