"""Soft sensor for the press section of a paper machine: felt and vacuum readings to
the cross-direction moisture profile, with a deep equilibrium layer."""
import json
import logging
import os
import time
from dataclasses import asdict, dataclass

import numpy as np
import torch
import torch.nn.functional as F

from equilibrium import EquilibriumSensor, FixedPoint

log = logging.getLogger("felt")


@dataclass
class Settings:
    rows: int = 24576
    held_out: int = 2048
    sensors: int = 96
    boxes: int = 60
    batch: int = 192
    epochs: int = 18
    lr: float = 1e-3
    smooth: float = 0.05
    seed: int = 17
    folder: str = "out"


def machine(cfg):
    rng = np.random.default_rng(cfg.seed)
    rows = cfg.rows + cfg.held_out
    causes = rng.normal(size=(rows, 14)).astype(np.float32)
    x = np.tanh(causes @ rng.normal(0, .5, (14, cfg.sensors)).astype(np.float32))
    x += rng.normal(0, .1, x.shape).astype(np.float32)
    place = np.linspace(0, 3 * np.pi, cfg.boxes, dtype=np.float32)
    modes = np.stack([np.cos(k * place / 3) for k in range(14)]).astype(np.float32)
    y = (causes * np.abs(causes[:, ::-1])) @ modes / 4
    y += rng.normal(0, .05, y.shape).astype(np.float32)
    x, y = torch.from_numpy(x), torch.from_numpy(y)
    n = cfg.rows
    return (x[:n], y[:n]), (x[n:], y[n:])


def batches(x, y, size, gen):
    order = torch.randperm(len(x), generator=gen)
    for pick in order[: len(x) // size * size].split(size):
        yield x[pick], y[pick]


def objective(pred, y, smooth):
    fit = F.huber_loss(pred, y, delta=0.5)
    rough = (pred - y).diff(n=2, dim=1).pow(2).mean()
    return fit + smooth * rough, fit


@torch.no_grad()
def held_out_error(model, x, y):
    model.eval()
    err = torch.cat([(model(a) - b).abs().mean(1) for a, b in zip(x.split(1024), y.split(1024))])
    model.train()
    return err.mean().item(), err.quantile(0.95).item()


def main():
    cfg = Settings()
    logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
    torch.manual_seed(cfg.seed)
    os.makedirs(cfg.folder, exist_ok=True)
    with open(f"{cfg.folder}/settings.json", "w") as f:
        json.dump(asdict(cfg), f)
    (x, y), (vx, vy) = machine(cfg)
    model = EquilibriumSensor(cfg.sensors, cfg.boxes)
    opt = torch.optim.Adam(model.parameters(), lr=cfg.lr, fused=True)
    per_epoch = cfg.rows // cfg.batch
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, cfg.lr, total_steps=cfg.epochs * per_epoch)
    gen = torch.Generator().manual_seed(cfg.seed)
    best = float("inf")
    for epoch in range(cfg.epochs):
        t0 = time.perf_counter()
        total = rounds = 0
        for i, (bx, by) in enumerate(batches(x, y, cfg.batch, gen)):
            loss, fit = objective(model(bx), by, cfg.smooth)
            rounds += FixedPoint.rounds
            opt.zero_grad(set_to_none=True)
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            sched.step()
            total += fit.item()
            if i % 32 == 0:
                log.info("epoch %d batch %d loss %.5f rounds %d", epoch, i, loss.item(), FixedPoint.rounds)
        mae, p95 = held_out_error(model, vx, vy)
        if mae < best:
            best = mae
            torch.save({"model": model.state_dict(), "epoch": epoch}, f"{cfg.folder}/best.pt")
        log.info("epoch %d fit %.5f held out %.4f (p95 %.4f) rounds %.1f, %.1f s", epoch, total / per_epoch,
                 mae, p95, rounds / per_epoch, time.perf_counter() - t0)


if __name__ == "__main__":
    main()
