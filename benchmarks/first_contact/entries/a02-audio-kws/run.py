import argparse

import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from kws.data import synth_keywords
from kws.model import KeywordNet

CONFIG = {
    "n_classes": 12,
    "train": 1600,
    "valid": 160,
    "batch_size": 16,
    "lr": 2e-3,
    "weight_decay": 1e-4,
    "epochs": 36,
}


def evaluate(model, loader):
    model.eval()
    hit = total = 0
    with torch.inference_mode():
        for wave, y in loader:
            hit += (model(wave).argmax(1) == y).sum().item()
            total += len(y)
    model.train()
    return hit / total


def main():
    parser = argparse.ArgumentParser()
    for key, value in CONFIG.items():
        parser.add_argument("--" + key.replace("_", "-"), type=type(value), default=value)
    cfg = parser.parse_args()
    torch.manual_seed(3)

    train = DataLoader(synth_keywords(cfg.train, cfg.n_classes), cfg.batch_size, shuffle=True, drop_last=True)
    valid = DataLoader(synth_keywords(cfg.valid, cfg.n_classes, seed=1), 80)
    model = KeywordNet(cfg.n_classes)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg.lr, weight_decay=cfg.weight_decay)
    sched = torch.optim.lr_scheduler.OneCycleLR(opt, cfg.lr, total_steps=cfg.epochs * len(train))

    for epoch in range(cfg.epochs):
        for i, (wave, y) in enumerate(train):
            gain = torch.empty(len(wave), 1).uniform_(0.7, 1.3)
            loss = F.cross_entropy(model(wave * gain), y, label_smoothing=0.05)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            sched.step()
            if i % 50 == 0:
                print(f"epoch {epoch} step {i}/{len(train)} loss {loss.item():.3f}")
        print(f"epoch {epoch} valid acc {evaluate(model, valid):.3f}")


if __name__ == "__main__":
    main()
