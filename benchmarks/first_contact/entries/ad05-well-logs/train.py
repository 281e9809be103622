"""Density of well-log readings with a normalizing flow, to flag readings that do not fit."""
import time
from dataclasses import dataclass

import torch

from flow import RealNVP
from logs import WellLogs


@dataclass
class Settings:
    data: str = "logs.csv"
    held_back: tuple = ("W13",)
    hidden: int = 576
    couplings: int = 4
    batch: int = 400
    epochs: int = 20
    lr: float = 5e-4
    clip: float = 5.0
    patience: int = 6
    path: str = "flow.pt"
    seed: int = 4


@torch.inference_mode()
def validate(flow, readings):
    return torch.cat([flow.log_prob(chunk) for chunk in readings.split(1024)])


def fit(settings, logs, flow):
    optimizer = torch.optim.Adam(flow.parameters(), lr=settings.lr, fused=True)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=settings.patience)
    best = float("inf")
    for epoch in range(settings.epochs):
        start = time.perf_counter()
        total, steps = torch.zeros(()), 0
        for readings in logs.batches(settings.batch):
            loss = -flow.log_prob(readings).mean()
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(flow.parameters(), settings.clip)
            optimizer.step()
            total += loss.detach()
            steps += 1
        held = -validate(flow, logs.val)
        nll = held.mean().item()
        scheduler.step(nll)
        print(f"epoch {epoch:2d} train {total.item() / steps:.3f} held back {nll:.3f} worst {held.max().item():.1f} "
              f"lr {optimizer.param_groups[0]['lr']:.1e} {time.perf_counter() - start:.1f}s", flush=True)
        if nll < best:
            best = nll
            torch.save(flow.state_dict(), settings.path)
    return best


def main():
    settings = Settings()
    torch.manual_seed(settings.seed)
    logs = WellLogs(settings.data, settings.held_back)
    flow = RealNVP(logs.curves, settings.hidden, settings.couplings)
    print(f"{len(logs.train)} readings of {logs.curves} curves, {len(logs.val)} held back")
    best = fit(settings, logs, flow)
    print(f"best held-back negative log likelihood {best:.3f}")


if __name__ == "__main__":
    main()
