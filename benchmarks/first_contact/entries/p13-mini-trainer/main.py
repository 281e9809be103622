"""A tiny Lightning-like trainer."""
import argparse
import copy
import os
from pathlib import Path
from typing import Iterable

import torch
from torch import nn
from torch.utils.data import DataLoader, TensorDataset


class Callback:
    def on_fit_start(self, trainer, module): ...
    def on_train_batch_end(self, trainer, module, out): ...
    def on_validation_end(self, trainer, module, metrics): ...


class ModelCheckpoint(Callback):
    def __init__(self, dirpath: str, every_n_train_steps: int = 3, keep: int = 3):
        self.dir, self.every, self.keep = Path(dirpath), every_n_train_steps, keep
        self.saved: list[Path] = []

    def on_fit_start(self, trainer, module):
        self.dir.mkdir(parents=True, exist_ok=True)

    def on_train_batch_end(self, trainer, module, out):
        if trainer.global_step % self.every:
            return
        path = self.dir / f"step{trainer.global_step:06d}.ckpt"
        torch.save({"step": trainer.global_step, "model": module.state_dict(),
                    "optim": trainer.optimizer.state_dict()}, path)
        self.saved.append(path)
        while len(self.saved) > self.keep:
            os.remove(self.saved.pop(0))


class BestWeights(Callback):
    def __init__(self):
        self.best, self.state = float("inf"), None

    def on_validation_end(self, trainer, module, metrics):
        if metrics["val_loss"] < self.best:
            self.best, self.state = metrics["val_loss"], copy.deepcopy(module.state_dict())


class Regressor(nn.Module):
    def __init__(self, i=256, h=512):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(i, h), nn.GELU(), nn.LayerNorm(h), nn.Linear(h, h), nn.GELU(), nn.Linear(h, h),
                                 nn.GELU(), nn.Linear(h, 1))

    def training_step(self, batch):
        x, y = batch
        return nn.functional.mse_loss(self.net(x).squeeze(-1), y)

    validation_step = training_step

    def configure_optimizers(self):
        return torch.optim.AdamW(self.parameters(), lr=3e-4)


class Trainer:
    def __init__(self, max_epochs: int, callbacks: Iterable[Callback], val_check_interval: int = 10):
        self.max_epochs, self.callbacks, self.val_every, self.global_step = max_epochs, list(callbacks), val_check_interval, 0

    def call(self, hook, *a):
        for c in self.callbacks:
            getattr(c, hook)(self, *a)

    def validate(self, module, loader):
        module.eval()
        losses = []
        for batch in loader:
            losses.append(module.validation_step(batch))
        module.train()
        metrics = {"val_loss": torch.stack(losses).mean().item()}
        self.call("on_validation_end", module, metrics)
        return metrics

    def fit(self, module, train_loader, val_loader):
        self.optimizer = module.configure_optimizers()
        self.call("on_fit_start", module)
        for epoch in range(self.max_epochs):
            for batch in train_loader:
                loss = module.training_step(batch)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                self.global_step += 1
                self.call("on_train_batch_end", module, loss.detach())
                if self.global_step % self.val_every == 0:
                    m = self.validate(module, val_loader)
                    if self.global_step % 50 == 0:
                        print(f"epoch {epoch} step {self.global_step} loss {loss.item():.4f} val {m['val_loss']:.4f}")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--max_epochs", type=int, default=2)
    p.add_argument("--out", default="/tmp/p13_ckpt")
    args = p.parse_args()
    torch.manual_seed(0)
    x = torch.randn(128 * 150, 256)
    y = x[:, :8].sum(1).sin() + 0.1 * torch.randn(len(x))
    train = DataLoader(TensorDataset(x[: 128 * 120], y[: 128 * 120]), 128, shuffle=True)
    val = DataLoader(TensorDataset(x[128 * 120:], y[128 * 120:]), 128)
    Trainer(args.max_epochs, [ModelCheckpoint(args.out), BestWeights()]).fit(Regressor(), train, val)
