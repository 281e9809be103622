import argparse
import os
import random
import time

import numpy as np
import torch
from torch.utils.data import DataLoader

from data import LoadWindows, ZoneStats, read_frame, split_frame
from model import Forecaster, pinball_loss

QUANTILES = (0.1, 0.5, 0.9)


def get_args():
    p = argparse.ArgumentParser()
    p.add_argument("--csv", default="data/load.csv")
    p.add_argument("--past", type=int, default=96)
    p.add_argument("--horizon", type=int, default=24)
    p.add_argument("--stride", type=int, default=72)
    p.add_argument("--val-days", type=int, default=42)
    p.add_argument("--batch-size", type=int, default=32)
    p.add_argument("--epochs", type=int, default=2)
    p.add_argument("--hidden", type=int, default=64)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--clip", type=float, default=1.0)
    p.add_argument("--teacher-forcing", type=float, default=0.5)
    p.add_argument("--print-every", type=int, default=20)
    p.add_argument("--checkpoint", default="checkpoints/forecaster.pt")
    p.add_argument("--seed", type=int, default=3)
    return p.parse_args()


def evaluate(model, loader, std):
    model.eval()
    losses, absolute, inside, count = [], 0.0, 0, 0
    with torch.no_grad():
        for past, future, target, zone in loader:
            prediction = model(past, future, zone)
            losses.append(pinball_loss(prediction, target, QUANTILES).item())
            absolute += ((prediction[:, :, 1] - target).abs() * std[zone].unsqueeze(1)).sum().item()
            inside += ((target >= prediction[:, :, 0]) & (target <= prediction[:, :, 2])).sum().item()
            count += target.numel()
    model.train()
    return np.mean(losses), absolute / count, inside / count


def main():
    args = get_args()
    random.seed(args.seed)
    np.random.seed(args.seed)
    torch.manual_seed(args.seed)

    frame = read_frame(args.csv)
    train_frame, val_frame = split_frame(frame, args.val_days, args.past)
    stats = ZoneStats(train_frame)
    train_set = LoadWindows(train_frame, stats, args.past, args.horizon, args.stride)
    val_set = LoadWindows(val_frame, stats, args.past, args.horizon, args.stride)
    train_loader = DataLoader(train_set, batch_size=args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, batch_size=args.batch_size)
    std = torch.tensor([stats.std[zone] for zone in train_set.zones])
    print(f"{len(train_set)} training windows, {len(val_set)} validation windows, {len(std)} zones")

    model = Forecaster(len(train_set.zones), hidden=args.hidden, attention_dim=args.hidden, quantiles=QUANTILES)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    os.makedirs(os.path.dirname(args.checkpoint), exist_ok=True)

    best = float("inf")
    for epoch in range(1, args.epochs + 1):
        start, total = time.time(), 0.0
        for step, (past, future, target, zone) in enumerate(train_loader, 1):
            prediction = model(past, future, zone, target, args.teacher_forcing)
            loss = pinball_loss(prediction, target, QUANTILES)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), args.clip)
            optimizer.step()
            total += loss.item()
            if step % args.print_every == 0:
                print(f"epoch {epoch} step {step}/{len(train_loader)} loss {total / step:.6f}")
        val_loss, mae, coverage = evaluate(model, val_loader, std)
        print(f"epoch {epoch} done in {time.time() - start:.1f} s: train {total / len(train_loader):.6f} "
              f"val {val_loss:.6f} mae {mae:.2f} MW coverage {coverage:.3f}")
        if val_loss < best:
            best = val_loss
            torch.save({"model": model.state_dict(), "stats": vars(stats), "args": vars(args)}, args.checkpoint)


if __name__ == "__main__":
    main()
