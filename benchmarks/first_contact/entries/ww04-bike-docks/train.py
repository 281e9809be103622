"""Forecasts the fill level of bike docks: python train.py [--epochs 6]"""
import argparse
import time
from dataclasses import asdict, fields

import torch
from torch import nn

from config import Config
from features import FUTURE, PAST, make_loaders
from network import DockForecaster


class Trainer:
    def __init__(self, config):
        self.config = config
        self.device = torch.device("cuda" if torch.cuda.is_available() else "cpu")
        self.train_loader, self.val_loader, stations = make_loaders(config)
        self.model = DockForecaster(
            stations, len(PAST), len(FUTURE), config.hidden, config.station_dim, config.dropout
        ).to(self.device)
        self.optimizer = torch.optim.AdamW(self.model.parameters(), lr=config.lr, weight_decay=config.weight_decay)
        self.scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(self.optimizer, factor=0.5, patience=1)
        self.criterion = nn.HuberLoss(delta=0.1)
        self.best = float("inf")

    def teacher_ratio(self, epoch):
        share = epoch / max(1, self.config.epochs - 1)
        return self.config.teacher_start + share * (self.config.teacher_end - self.config.teacher_start)

    def train_epoch(self, epoch):
        self.model.train()
        total = 0.0
        teacher = self.teacher_ratio(epoch)
        for batch in self.train_loader:
            station, past, future, target = [part.to(self.device) for part in batch]
            self.optimizer.zero_grad()
            predicted = self.model(station, past, future, target, teacher)
            loss = self.criterion(predicted, target)
            loss.backward()
            nn.utils.clip_grad_norm_(self.model.parameters(), self.config.clip)
            self.optimizer.step()
            total += loss.item()
        return total / len(self.train_loader)

    @torch.no_grad()
    def validate(self):
        self.model.eval()
        absolute, square, naive, count = 0.0, 0.0, 0.0, 0
        for batch in self.val_loader:
            station, past, future, target = [part.to(self.device) for part in batch]
            error = self.model(station, past, future) - target
            absolute += error.abs().sum().item()
            square += error.square().sum().item()
            naive += (past[:, -1, :1] - target).abs().sum().item()
            count += target.numel()
        return {"mae": absolute / count, "rmse": (square / count) ** 0.5, "naive": naive / count}

    def fit(self):
        print(f"{len(self.train_loader.dataset)} windows, {len(self.train_loader)} steps an epoch")
        for epoch in range(self.config.epochs):
            began = time.time()
            loss = self.train_epoch(epoch)
            print(f"epoch {epoch + 1}: loss {loss:.5f} ({time.time() - began:.1f} s)")
            if (epoch + 1) % self.config.val_every == 0:
                scores = self.validate()
                self.scheduler.step(scores["mae"])
                print("  validation " + " ".join(f"{name} {value:.4f}" for name, value in scores.items()))
                if scores["mae"] < self.best:
                    self.best = scores["mae"]
                    torch.save({"model": self.model.state_dict(), "config": asdict(self.config)}, self.config.output)


def main():
    parser = argparse.ArgumentParser()
    for field in fields(Config):
        parser.add_argument("--" + field.name.replace("_", "-"), type=field.type, default=field.default)
    config = Config(**vars(parser.parse_args()))
    torch.manual_seed(config.seed)
    Trainer(config).fit()


if __name__ == "__main__":
    main()
