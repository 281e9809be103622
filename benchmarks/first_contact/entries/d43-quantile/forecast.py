"""Probabilistic load forecasting: residual MLP over the context window with quantile outputs."""
import argparse
import time

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

QUANTILES = (0.05, 0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.95)


def load_series(n_series=60, length=2400, seed=0):
    rng = np.random.default_rng(seed)
    t = np.arange(length)
    day = np.sin(2 * np.pi * t / 24)[None] * rng.uniform(0.5, 1.5, (n_series, 1))
    week = np.sin(2 * np.pi * t / 168 + 1)[None] * rng.uniform(0.1, 0.7, (n_series, 1))
    noise = rng.normal(0, 0.2, (n_series, length))
    return torch.from_numpy((day + week + noise).astype(np.float32))


class Windows:
    """Draws random (context, target) windows, all indices of a batch at once."""

    def __init__(self, series, context, horizon, batch_size):
        self.series, self.batch_size = series, batch_size
        self.context, self.horizon = context, horizon
        self.span = torch.arange(context + horizon)

    def batch(self):
        s = torch.randint(self.series.size(0), (self.batch_size, 1))
        t = torch.randint(self.series.size(1) - len(self.span), (self.batch_size, 1))
        w = self.series[s, t + self.span]
        return w[:, : self.context], w[:, self.context:]


class Block(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.up = nn.Linear(dim, 2 * dim)
        self.down = nn.Linear(2 * dim, dim)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class Forecaster(nn.Module):
    def __init__(self, context, dim=192, blocks=3, horizon=24, n_q=len(QUANTILES)):
        super().__init__()
        self.inp = nn.Linear(context, dim)
        self.blocks = nn.ModuleList(Block(dim) for _ in range(blocks))
        self.head = nn.Linear(dim, horizon * n_q)
        self.shape = (horizon, n_q)

    def forward(self, x):
        h = self.inp(x)
        for block in self.blocks:
            h = block(h)
        return self.head(h).unflatten(1, self.shape)


def pinball(pred, target, quantiles=QUANTILES):
    losses = []
    for i, q in enumerate(quantiles):
        err = target - pred[:, :, i]
        losses.append(torch.max(q * err, (q - 1) * err).unsqueeze(-1))
    return torch.cat(losses, dim=-1).sum(-1).mean()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=2000)
    ap.add_argument("--batch-size", type=int, default=128)
    ap.add_argument("--context", type=int, default=96)
    ap.add_argument("--lr", type=float, default=2e-3)
    args = ap.parse_args()

    torch.manual_seed(0)
    windows = Windows(load_series(), args.context, 24, args.batch_size)
    model = Forecaster(args.context)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, fused=True)
    t0 = time.time()
    for step in range(1, args.steps + 1):
        x, y = windows.batch()
        loss = pinball(model(x), y)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 100 == 0:
            print(f"{step:5d} pinball {loss.item():.4f} {time.time() - t0:.1f}s", flush=True)
    torch.save(model.state_dict(), "forecaster.pt")


if __name__ == "__main__":
    main()
