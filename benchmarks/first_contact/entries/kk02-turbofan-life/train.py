import argparse
import csv
import random
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader

from data import FEATURES, LastWindowDataset, WindowDataset, load
from model import ConvLSTMRegressor

SCALE = 125.0


def get_args():
    parser = argparse.ArgumentParser(description="Remaining useful life of turbofan engines")
    parser.add_argument("--data", default="data")
    parser.add_argument("--out", default="runs")
    parser.add_argument("--window", type=int, default=40)
    parser.add_argument("--cap", type=float, default=125)
    parser.add_argument("--batch-size", type=int, default=64)
    parser.add_argument("--epochs", type=int, default=3)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--mc-samples", type=int, default=50)
    parser.add_argument("--seed", type=int, default=3)
    return parser.parse_args()


def nll(mean, log_var, target):
    return 0.5 * (log_var + (mean - target) ** 2 * torch.exp(-log_var)).mean()


def nasa_score(predicted, true):
    gap = predicted - true
    return np.where(gap < 0, np.exp(-gap / 13) - 1, np.exp(gap / 10) - 1).sum()


def train_epoch(model, loader, optimizer, scheduler):
    model.train()
    total, seen = 0.0, 0
    for x, y in loader:
        y = y / SCALE
        mean, log_var = model(x)
        loss = nll(mean, log_var, y)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        scheduler.step()
        total += loss.item() * len(y)
        seen += len(y)
    return total / seen


def enable_dropout(model):
    model.eval()
    for module in model.modules():
        if isinstance(module, nn.Dropout):
            module.train()


@torch.no_grad()
def evaluate(model, test_set, samples):
    """Monte Carlo dropout: mean and spread of `samples` passes for every engine."""
    enable_dropout(model)
    predicted, spread, true = [], [], []
    for x, y in test_set:
        draws = []
        for _ in range(samples):
            mean, log_var = model(x.unsqueeze(0))
            draws.append(mean.item() * SCALE)
        predicted.append(np.mean(draws))
        spread.append(np.std(draws))
        true.append(y.item())
    predicted, true = np.array(predicted), np.array(true)
    rmse = np.sqrt(np.mean((predicted - true) ** 2))
    return rmse, nasa_score(predicted, true), np.mean(spread)


def main():
    args = get_args()
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)
    out = Path(args.out)
    out.mkdir(parents=True, exist_ok=True)

    train_frame, test_frame, left = load(args.data, args.cap)
    train_set = WindowDataset(train_frame, args.window)
    test_set = LastWindowDataset(test_frame, left, args.window)
    loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
    print(f"{len(train_set)} windows, {len(test_set)} test engines, {len(FEATURES)} features")

    model = ConvLSTMRegressor(len(FEATURES))
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=3 * args.lr, total_steps=args.epochs * len(loader))

    best = float("inf")
    with open(out / "history.csv", "w", newline="") as f:
        writer = csv.writer(f)
        writer.writerow(["epoch", "train_nll", "rmse", "score", "spread"])
        for epoch in range(1, args.epochs + 1):
            loss = train_epoch(model, loader, optimizer, scheduler)
            rmse, score, spread = evaluate(model, test_set, args.mc_samples)
            writer.writerow([epoch, loss, rmse, score, spread])
            f.flush()
            print(f"epoch {epoch:3d}  nll {loss:.4f}  rmse {rmse:.2f}  score {score:.0f}  spread {spread:.2f}")
            if rmse < best:
                best = rmse
                torch.save({"model": model.state_dict(), "rmse": rmse, "args": vars(args)}, out / "best.pt")
    print(f"best rmse {best:.2f}")


if __name__ == "__main__":
    main()
