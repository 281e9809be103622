"""Three-hour climate forecast for greenhouse compartments."""
import argparse
import logging
import time
from pathlib import Path

import numpy as np
import torch
from torch.utils.data import DataLoader

from dataset import CONTROLS, INPUTS, TARGETS, ClimateWindows, load_frames, split_frames
from model import ClimateForecaster

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s")
log = logging.getLogger("greenhouse")


def build_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="data")
    p.add_argument("--out", default="checkpoints")
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--batch-size", type=int, default=64)
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--patience", type=int, default=10)
    return p.parse_args()


class EarlyStopping:
    def __init__(self, path, patience):
        self.path, self.patience = path, patience
        self.best, self.bad = np.inf, 0

    def __call__(self, score, model):
        if score < self.best:
            self.best, self.bad = score, 0
            torch.save(model.state_dict(), self.path)
        else:
            self.bad += 1
        return self.bad >= self.patience


def validate(model, loader, std):
    model.eval()
    errors = []
    with torch.no_grad():
        for past, controls, target in loader:
            forecast = model(past, controls)
            errors.append((forecast - target).abs().mean(dim=(0, 1)).numpy())
    mae = np.mean(errors, axis=0)
    return mae.mean(), mae * std[TARGETS].values


def train_one_epoch(model, loader, optimizer, criterion):
    model.train()
    losses = []
    for past, controls, target in loader:
        optimizer.zero_grad()
        forecast = model(past, controls)
        loss = criterion(forecast, target)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        losses.append(loss.item())
    return np.mean(losses)


def main():
    args = build_args()
    torch.manual_seed(0)
    Path(args.out).mkdir(exist_ok=True)

    train_frames, val_frames, mean, std = split_frames(load_frames(args.data))
    train_set = ClimateWindows(train_frames, mean, std)
    val_set = ClimateWindows(val_frames, mean, std, stride=12)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size, shuffle=False)
    log.info("%d training windows, %d validation windows", len(train_set), len(val_set))

    model = ClimateForecaster(len(INPUTS), len(CONTROLS), len(TARGETS), args.hidden)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, factor=0.5, patience=4)
    criterion = torch.nn.SmoothL1Loss()
    stopper = EarlyStopping(Path(args.out) / "best.pt", args.patience)

    for epoch in range(args.epochs):
        start = time.time()
        loss = train_one_epoch(model, train_loader, optimizer, criterion)
        score, mae = validate(model, val_loader, std)
        scheduler.step(score)
        log.info("epoch %d loss %.4f val %.4f | temp %.2f humidity %.2f co2 %.1f | %.1fs",
                 epoch, loss, score, *mae, time.time() - start)
        if stopper(score, model):
            log.info("early stop")
            break


if __name__ == "__main__":
    main()
