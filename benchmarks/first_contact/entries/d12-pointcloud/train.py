import argparse
import time

import torch
from torch import nn
from torch.utils.data import DataLoader

from data import KINDS, Shapes


class PointNet(nn.Module):
    def __init__(self, classes):
        super().__init__()
        self.local = nn.Sequential(nn.Linear(3, 48), nn.ReLU(), nn.Linear(48, 64), nn.ReLU(), nn.Linear(64, 128))
        self.head = nn.Sequential(nn.Linear(128, 64), nn.ReLU(), nn.Dropout(0.2), nn.Linear(64, classes))

    def forward(self, p):
        return self.head(self.local(p).amax(dim=1))


def parse():
    p = argparse.ArgumentParser()
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--workers", type=int, default=2)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--shapes", type=int, default=800)
    return p.parse_args()


def main():
    args = parse()
    torch.manual_seed(0)
    train = DataLoader(
        Shapes(args.shapes, train=True, seed=1),
        batch_size=args.batch_size,
        shuffle=True,
        num_workers=args.workers,
        drop_last=True,
    )
    val = DataLoader(Shapes(96, train=False, seed=2), batch_size=96, num_workers=args.workers)
    model = PointNet(len(KINDS))
    opt = torch.optim.Adam(model.parameters(), lr=args.lr)
    loss_fn = nn.CrossEntropyLoss()
    best = 0.0
    t0 = time.time()
    for epoch in range(args.epochs):
        model.train()
        total = 0.0
        for points, label in train:
            opt.zero_grad()
            loss = loss_fn(model(points), label)
            loss.backward()
            opt.step()
            total += loss.item()

        model.eval()
        hits = 0
        with torch.no_grad():
            for points, label in val:
                hits += (model(points).argmax(1) == label).sum().item()
        acc = hits / len(val.dataset)
        if acc > best:
            best = acc
            torch.save(model.state_dict(), "best.pt")
        if epoch % 5 == 4:
            print(f"epoch {epoch + 1} loss {total / len(train):.3f} val {acc:.3f} best {best:.3f} {time.time() - t0:.1f}s")


if __name__ == "__main__":
    main()
