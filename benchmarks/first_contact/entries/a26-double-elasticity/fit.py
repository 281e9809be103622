"""Price elasticity net: features come from the warehouse as numpy arrays."""
import argparse

import numpy as np
import torch
from torch import nn


def warehouse(n, seed):
    rng = np.random.default_rng(seed)
    x = rng.normal(size=(n, 40))
    y = np.sin(x[:, 0]) + x[:, 1] * x[:, 2] + 0.1 * rng.normal(size=n)
    return x, y


class ElasticityNet(nn.Module):
    def __init__(self, n_in, width, depth):
        super().__init__()
        dims = [n_in] + [width] * depth
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims, dims[1:]))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        for i, layer in enumerate(self.layers):
            h = torch.relu(layer(x))
            x = h if i == 0 else x + h
        return self.out(x).squeeze(-1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--n", type=int, default=60_000)
    ap.add_argument("--width", type=int, default=384)
    ap.add_argument("--depth", type=int, default=3)
    ap.add_argument("--batch", type=int, default=256)
    ap.add_argument("--epochs", type=int, default=11)
    args = ap.parse_args()
    torch.manual_seed(0)
    x, y = map(torch.as_tensor, warehouse(args.n, 0))
    vx, vy = map(torch.as_tensor, warehouse(4096, 1))
    mean, std = x.mean(0), x.std(0)
    x, vx = (x - mean) / std, (vx - mean) / std

    model = ElasticityNet(x.shape[1], args.width, args.depth).to(x.dtype)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    loss_fn = nn.SmoothL1Loss()
    for epoch in range(args.epochs):
        total = 0.0
        order = torch.randperm(len(x))
        for k, idx in enumerate(order.split(args.batch), 1):
            xb, yb = x[idx], y[idx]
            loss = loss_fn(model(xb), yb)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
        with torch.no_grad():
            r2 = 1 - (model(vx) - vy).var() / vy.var()
        print(f"epoch {epoch} loss {total / k:.4f} valid r2 {r2:.4f}")


if __name__ == "__main__":
    main()
