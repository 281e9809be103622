"""Which stones of a dry-stone wall will have moved by the next survey, and how far the face bulges.

    python prepare.py
    python train.py
"""

import argparse
import csv
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn.functional as F
from torch.utils.data import DataLoader

from model import DrystoneNet
from scores import bulge_scores, intervals
from survey import Archive, Sections, split


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=30)
    parser.add_argument("--batch", type=int, default=24)
    parser.add_argument("--hours", type=int, default=64)
    parser.add_argument("--width", type=int, default=40)
    parser.add_argument("--layers", type=int, default=2)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--decay", type=float, default=1e-4)
    parser.add_argument("--bulge-weight", type=float, default=0.5)
    parser.add_argument("--held-out", type=int, default=320)
    parser.add_argument("--seed", type=int, default=5)
    parser.add_argument("--out", type=Path, default=Path("runs"))
    return parser.parse_args()


def section_loss(shift, bulge, batch, bulge_weight):
    each = F.smooth_l1_loss(shift, batch["shift"], beta=0.1, reduction="none")
    stones = each.sum() / batch["present"].sum()
    return stones + bulge_weight * F.mse_loss(bulge, batch["bulge"])


def forward(model, batch):
    return model(batch["stones"], batch["contact"], batch["present"], batch["weather"])


@torch.no_grad()
def validate(model, loader):
    model.eval()
    predicted, measured = [], []
    moved, stones = 0.0, 0
    for batch in loader:
        shift, bulge = forward(model, batch)
        moved += (shift - batch["shift"]).abs().sum().item()
        stones += int(batch["present"].sum())
        predicted.append(bulge)
        measured.append(batch["bulge"])
    model.train()
    predicted = torch.cat(predicted).numpy()
    measured = torch.cat(measured).numpy()
    scores = bulge_scores(predicted, measured)
    ranges = intervals(predicted, measured)
    return moved / stones, scores, ranges


def main():
    args = arguments()
    torch.manual_seed(args.seed)
    np.random.seed(args.seed)
    args.out.mkdir(exist_ok=True)

    archive = Archive()
    train_index, held_out = split(len(archive), args.held_out, args.seed)
    loader = DataLoader(
        Sections(archive, train_index, args.hours),
        batch_size=args.batch,
        shuffle=True,
        drop_last=True,
    )
    check = DataLoader(Sections(archive, held_out, args.hours, training=False), batch_size=80)

    model = DrystoneNet(width=args.width, layers=args.layers)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.decay)
    schedule = torch.optim.lr_scheduler.OneCycleLR(
        optimizer, max_lr=args.lr, total_steps=args.epochs * len(loader), pct_start=0.15
    )

    best = float("inf")
    with open(args.out / "log.csv", "w", newline="") as file:
        log = csv.writer(file)
        log.writerow(["epoch", "loss", "gradient", "stone_mae", "bulge_mae", "mae_low", "mae_high", "r2", "r2_low", "r2_high"])
        for epoch in range(args.epochs):
            started = time.perf_counter()
            total, steepest = 0.0, 0.0
            for batch in loader:
                shift, bulge = forward(model, batch)
                loss = section_loss(shift, bulge, batch, args.bulge_weight)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                norm = torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
                optimizer.step()
                schedule.step()
                total += loss.item()
                steepest = max(steepest, norm.item())

            stone_mae, scores, ranges = validate(model, check)
            log.writerow(
                [epoch, total / len(loader), steepest, stone_mae, scores["mae"], *ranges["mae"], scores["r2"], *ranges["r2"]]
            )
            file.flush()
            if scores["mae"] < best:
                best = scores["mae"]
                torch.save({"model": model.state_dict(), "epoch": epoch, "mae": best}, args.out / "best.pt")
            print(
                f"epoch {epoch:3d}  loss {total / len(loader):.4f}  stones {stone_mae:.4f}  "
                f"bulge {scores['mae']:.4f} ({ranges['mae'][0]:.4f} .. {ranges['mae'][1]:.4f})  "
                f"{time.perf_counter() - started:.1f} s",
                flush=True,
            )
    print(f"best bulge error {best:.4f}")


if __name__ == "__main__":
    main()
