"""Point-cloud autoencoder on synthetic furniture, Chamfer loss."""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def box(n, size, centre, g):
    p = (torch.rand(n, 3, generator=g) - 0.5) * torch.tensor(size)
    return p + torch.tensor(centre)


def chair(n, g):
    h, w = (torch.rand(2, generator=g) * 0.4 + 0.4).tolist()
    parts = [box(n // 3, (w, w, 0.06), (0.0, 0.0, 0.0), g), box(n // 3, (w, 0.06, h), (0.0, w / 2, h / 2), g)]
    legs = (n - 2 * (n // 3)) // 4
    for sx in (-1, 1):
        for sy in (-1, 1):
            parts.append(box(legs, (0.05, 0.05, h), (sx * w / 2, sy * w / 2, -h / 2), g))
    cloud = torch.cat(parts)
    extra = n - cloud.size(0)
    return torch.cat([cloud, cloud[:extra]])


class ChairSet(torch.utils.data.TensorDataset):
    def __init__(self, count, points, seed):
        g = torch.Generator().manual_seed(seed)
        super().__init__(torch.stack([chair(points, g) for _ in range(count)]))


class CloudAutoencoder(nn.Module):
    def __init__(self, points, latent=64):
        super().__init__()
        self.points = points
        self.encode = nn.Sequential(nn.Linear(3, 32), nn.ReLU(), nn.Linear(32, 64), nn.ReLU(), nn.Linear(64, latent))
        self.decode = nn.Sequential(nn.Linear(latent, 128), nn.ReLU(), nn.Linear(128, 256), nn.ReLU(), nn.Linear(256, points * 3))

    def forward(self, cloud):
        code = self.encode(cloud).amax(dim=1)
        return self.decode(code).view(-1, self.points, 3)


def chamfer(a, b):
    diff = a.unsqueeze(2) - b.unsqueeze(1)
    dist = (diff ** 2).sum(dim=-1)
    return dist.min(dim=2)[0].mean() + dist.min(dim=1)[0].mean()


@torch.no_grad()
def validate(model, loader):
    model.eval()
    total = sum(chamfer(model(cloud), cloud).item() * len(cloud) for (cloud,) in loader)
    model.train()
    return total / len(loader.dataset)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--points", type=int, default=256)
    ap.add_argument("--epochs", type=int, default=36)
    ap.add_argument("--batch", type=int, default=16)
    ap.add_argument("--lr", type=float, default=1e-3)
    args = ap.parse_args()

    torch.manual_seed(0)
    train_loader = torch.utils.data.DataLoader(ChairSet(800, args.points, 1), batch_size=args.batch, shuffle=True, drop_last=True)
    val_loader = torch.utils.data.DataLoader(ChairSet(96, args.points, 2), batch_size=args.batch)
    model = CloudAutoencoder(args.points)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs)

    for epoch in range(args.epochs):
        began, running = time.time(), 0.0
        for (cloud,) in train_loader:
            loss = chamfer(model(cloud), cloud)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            running += loss.item()
        scheduler.step()
        print(f"epoch {epoch + 1:2d}  train {running / len(train_loader):.5f}  val {validate(model, val_loader):.5f}  {time.time() - began:.1f} s")


if __name__ == "__main__":
    main()
