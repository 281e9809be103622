from dataclasses import dataclass, fields
import argparse


@dataclass
class Config:
    data: str = "plates.npz"
    out: str = "out"
    size: int = 24
    width: int = 8
    batch: int = 32
    iters: int = 1200
    lr: float = 2e-4
    beta1: float = 0.0
    # sampler
    langevin_steps: int = 3
    langevin_lr: float = 8.0
    langevin_noise: float = 0.008
    grad_clamp: float = 0.03
    reservoir: int = 4096
    restart: float = 0.05
    # objective
    alpha: float = 0.1
    noise: float = 0.005
    clip: float = 0.1
    # bookkeeping
    log_every: int = 20
    sheet_every: int = 300
    seed: int = 1787


def from_args():
    p = argparse.ArgumentParser("Energy-based model of Chladni figures")
    for f in fields(Config):
        p.add_argument("--" + f.name, type=f.type, default=f.default)
    return Config(**vars(p.parse_args()))
