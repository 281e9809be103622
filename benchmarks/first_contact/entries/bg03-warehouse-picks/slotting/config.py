from dataclasses import dataclass


@dataclass
class Config:
    data: str = "tours.npz"
    slots: int = 1200
    zones: int = 12
    stops: int = 192
    width: int = 96
    heads: int = 6
    blocks: int = 3
    batch: int = 12
    epochs: int = 8
    lr: float = 6e-4
    warmup: int = 60
    clip: float = 1.0
    zone_weight: float = 0.2
    held_out: int = 96
    seed: int = 31
    log_every: int = 25
    run_dir: str = "run"
