"""House prices from a generated table: residual MLP with a moving average of the weights."""
import argparse
import pathlib
import tempfile
from collections import deque

import numpy as np
import pandas as pd
import torch
import torch.nn as nn


def build_csv(path, rows, cols):
    rng = np.random.default_rng(0)
    x = rng.normal(size=(rows, cols))
    price = 3 * x[:, 0] + x[:, 1] * x[:, 2] + 0.1 * rng.normal(size=rows)
    pd.DataFrame(np.column_stack([x, price]), columns=[f"f{i}" for i in range(cols)] + ["price"]).to_csv(path, index=False)


class ResMLP(nn.Module):
    def __init__(self, cols, width=384, depth=3):
        super().__init__()
        self.inp = nn.Linear(cols, width)
        self.blocks = nn.ModuleList(
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width), nn.ReLU(), nn.Linear(width, width)) for _ in range(depth))
        self.out = nn.Linear(width, 1)

    def forward(self, x):
        h = self.inp(x)
        for b in self.blocks:
            h = h + b(h)
        return self.out(h).squeeze(-1)


class EarlyStopping:
    def __init__(self, patience):
        self.patience, self.best, self.bad = patience, float("inf"), 0

    def __call__(self, value):
        self.best, self.bad = (value, 0) if value < self.best else (self.best, self.bad + 1)
        return self.bad > self.patience


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--rows", type=int, default=22000)
    ap.add_argument("--batch", type=int, default=512)
    a = ap.parse_args()
    torch.manual_seed(0)
    with tempfile.TemporaryDirectory() as d:
        csv = pathlib.Path(d, "houses.csv")
        build_csv(csv, a.rows, 24)
        df = pd.read_csv(csv)
    x = torch.tensor(df.drop(columns="price").values, dtype=torch.float32)
    y = torch.tensor(df["price"].values, dtype=torch.float32)
    n = int(0.95 * len(x))
    model = ResMLP(x.shape[1])
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3)
    ema = torch.optim.swa_utils.AveragedModel(model, multi_avg_fn=torch.optim.swa_utils.get_ema_multi_avg_fn(0.99))
    stop, recent = EarlyStopping(3), deque(maxlen=20)
    for epoch in range(a.epochs):
        model.train()
        total, sq, absd = torch.zeros(()), [], []
        for ix in torch.randperm(n).split(a.batch):
            pred = model(x[ix])
            loss = nn.functional.smooth_l1_loss(pred, y[ix])
            opt.zero_grad()
            loss.backward()
            opt.step()
            ema.update_parameters(model)
            err = (pred - y[ix]).detach()
            total += loss.detach() * len(ix)
            sq.append(err.square().mean().item())
            absd.append(np.mean(np.abs(err.numpy())))
            recent.append(loss.item())
        ema.eval()
        with torch.no_grad():
            rmse = (ema(x[n:]) - y[n:]).square().mean().sqrt().item()
        print(f"epoch {epoch} train {total.item() / n:.4f} rmse {np.sqrt(np.mean(sq)):.3f} mae {np.mean(absd):.3f} "
              f"recent {np.mean(recent):.4f} val rmse {rmse:.4f}")
        if stop(rmse):
            break


if __name__ == "__main__":
    main()
