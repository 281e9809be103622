import argparse
import os
from dataclasses import fields

import torch

from slotting.callbacks import History, KeepBest, MemoryGuard, StepLog
from slotting.config import Config
from slotting.data import loaders
from slotting.model import TourModel
from slotting.trainer import Trainer


def parse():
    ap = argparse.ArgumentParser(description="Picking-tour times of the warehouse")
    for f in fields(Config):
        ap.add_argument(f"--{f.name.replace('_', '-')}", type=f.type, default=f.default)
    return Config(**vars(ap.parse_args()))


if __name__ == "__main__":
    cfg = parse()
    torch.manual_seed(cfg.seed)
    os.makedirs(cfg.run_dir, exist_ok=True)
    train, valid = loaders(cfg)
    trainer = Trainer(TourModel(cfg), cfg, [
        StepLog(cfg.log_every),
        MemoryGuard(),
        History(os.path.join(cfg.run_dir, "history.jsonl")),
        KeepBest(os.path.join(cfg.run_dir, "best.pt")),
    ])
    trainer.fit(train, valid)
