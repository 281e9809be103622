"""Residual MLP on tabular wine-like measurements with an averaged copy for evaluation."""
import copy
import time
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Config:
    rows: int = 24000
    features: int = 24
    grades: int = 7
    width: int = 128
    blocks: int = 8
    batch: int = 256
    epochs: int = 48
    lr: float = 1e-3
    decay: float = 0.998


class Block(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.norm = nn.BatchNorm1d(width)
        self.up = nn.Linear(width, width)
        self.down = nn.Linear(width, width)

    def forward(self, x):
        return x + self.down(F.gelu(self.up(self.norm(x))))


class ResMLP(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.stem = nn.Linear(cfg.features, cfg.width)
        self.blocks = nn.Sequential(*[Block(cfg.width) for _ in range(cfg.blocks)])
        self.head = nn.Linear(cfg.width, cfg.grades)

    def forward(self, x):
        return self.head(self.blocks(self.stem(x)))


class AveragedModel:
    def __init__(self, model, decay):
        self.model = copy.deepcopy(model).eval()
        self.decay = decay

    def update(self, model):
        source = model.state_dict()
        target = self.model.state_dict()
        for name in target:
            if target[name].dtype.is_floating_point:
                target[name] = self.decay * target[name] + (1 - self.decay) * source[name]
            else:
                target[name] = source[name]
        self.model.load_state_dict(target)


def make_table(cfg):
    g = torch.Generator().manual_seed(8)
    x = torch.randn(cfg.rows, cfg.features, generator=g)
    mixing = torch.randn(cfg.features, 6, generator=g)
    score = torch.tanh(x @ mixing / 4).pow(3).sum(1) + 0.1 * torch.randn(cfg.rows, generator=g)
    edges = torch.quantile(score, torch.linspace(0, 1, cfg.grades + 1)[1:-1])
    return x, torch.bucketize(score, edges)


class Trainer:
    def __init__(self, cfg):
        self.cfg = cfg
        x, y = make_table(cfg)
        cut = cfg.rows * 9 // 10
        self.train_data, self.test_data = (x[:cut], y[:cut]), (x[cut:], y[cut:])
        self.model = ResMLP(cfg)
        self.average = AveragedModel(self.model, cfg.decay)
        self.optimizer = torch.optim.Adam(self.model.parameters(), lr=cfg.lr)

    def accuracy(self, model):
        was = model.training
        model.eval()
        with torch.no_grad():
            hits = (model(self.test_data[0]).argmax(1) == self.test_data[1]).float().mean().item()
        model.train(was)
        return hits

    def run(self):
        x, y = self.train_data
        for epoch in range(self.cfg.epochs):
            began, losses = time.time(), []
            for rows in torch.randperm(len(x)).split(self.cfg.batch):
                loss = F.cross_entropy(self.model(x[rows]), y[rows])
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.average.update(self.model)
                losses.append(loss.detach())
            print(f"{epoch + 1:3d} loss {torch.stack(losses).mean():.4f} raw {self.accuracy(self.model):.3f} "
                  f"averaged {self.accuracy(self.average.model):.3f} {time.time() - began:.1f} s")


if __name__ == "__main__":
    torch.manual_seed(1)
    Trainer(Config()).run()
