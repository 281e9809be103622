from dataclasses import dataclass


@dataclass
class Config:
    csv: str = "docks.csv"
    history: int = 48
    horizon: int = 12
    stride: int = 6
    batch_size: int = 64
    hidden: int = 96
    station_dim: int = 8
    dropout: float = 0.1
    lr: float = 2e-3
    weight_decay: float = 1e-4
    epochs: int = 6
    val_every: int = 2
    clip: float = 1.0
    teacher_start: float = 1.0
    teacher_end: float = 0.2
    seed: int = 3
    output: str = "docks.pt"
