"""Gated residual MLP on tabular regression data."""
import json
import time
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    rows: int = 65536
    features: int = 40
    width: int = 128
    depth: int = 6
    batch: int = 128
    epochs: int = 3
    lr: float = 1e-3
    clip: float = 1.0
    log_every: int = 100


class Gated(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.norm = nn.LayerNorm(d)
        self.up = nn.Linear(d, 2 * d)
        self.down = nn.Linear(d, d)

    def forward(self, x):
        return x + self.down(F.glu(self.up(self.norm(x))))


class Net(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.stem = nn.Linear(cfg.features, cfg.width)
        self.body = nn.Sequential(*[Gated(cfg.width) for _ in range(cfg.depth)])
        self.head = nn.Linear(cfg.width, 1)

    def forward(self, x):
        return self.head(self.body(self.stem(x))).squeeze(-1)


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        torch.manual_seed(0)
        w = torch.randn(cfg.features, 16)
        self.x = torch.randn(cfg.rows, cfg.features)
        self.y = torch.sin(self.x @ w * 0.3).sum(1) * 0.3
        self.model = Net(cfg)
        self.opt = torch.optim.AdamW(self.model.parameters(), lr=cfg.lr, fused=True)
        self.history = []
        self.grad_stats = {}

    def update_grad_stats(self):
        for name, p in self.model.named_parameters():
            g = p.grad.detach()
            ratio = g.norm().item() / (p.detach().norm().item() + 1e-8)
            dead = (g.abs() < 1e-8).float().mean().item()
            self.grad_stats[name] = 0.9 * self.grad_stats.get(name, 0.0) + 0.1 * ratio * (1 - dead)

    def step(self, x, y):
        loss = F.smooth_l1_loss(self.model(x), y)
        self.opt.zero_grad()
        loss.backward()
        self.update_grad_stats()
        nn.utils.clip_grad_norm_(self.model.parameters(), self.cfg.clip)
        self.opt.step()
        return loss.detach()

    def fit(self):
        n, t0, step = 0, time.time(), 0
        for epoch in range(self.cfg.epochs):
            for idx in torch.randperm(self.cfg.rows).split(self.cfg.batch):
                loss = self.step(self.x[idx], self.y[idx])
                step += 1
                if step % self.cfg.log_every == 0:
                    big = max(self.grad_stats, key=self.grad_stats.get)
                    self.history.append({"step": step, "loss": loss.item(), "largest": big})
                    print(f"[{epoch}] {step} loss {loss.item():.4f} largest grad {big} {time.time() - t0:.1f}s")
        with open("history.json", "w") as f:
            json.dump(self.history, f)


if __name__ == "__main__":
    Trainer(Config()).fit()
