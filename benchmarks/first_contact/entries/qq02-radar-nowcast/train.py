import argparse
import csv
import os
import time

import torch
from torch.utils.data import DataLoader

from archive import RadarArchive
from convlstm import Nowcaster
from verify import evaluate


def parse_args():
    p = argparse.ArgumentParser("Precipitation nowcasting with a ConvLSTM")
    p.add_argument("--data", default="data")
    p.add_argument("--n-in", type=int, default=5)
    p.add_argument("--n-out", type=int, default=10)
    p.add_argument("--crop", type=int, default=64)
    p.add_argument("--hidden", type=int, default=24)
    p.add_argument("--batch-size", type=int, default=4)
    p.add_argument("--iterations", type=int, default=200)
    p.add_argument("--val-every", type=int, default=50)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=11)
    p.add_argument("--run", default="runs/convlstm")
    return p.parse_args()


def weights_of(target):
    """Weights growing with the rain rate (Marshall-Palmer) of the observed echo."""
    rate = (10 ** (target * 6.0) / 200.0) ** 0.625
    return torch.clamp(1.0 + rate, max=30.0)


def balanced_loss(forecast, target):
    w = weights_of(target)
    diff = forecast - target
    return (w * (diff ** 2 + diff.abs())).mean()


def endless(loader):
    while True:
        yield from loader


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    os.makedirs(args.run, exist_ok=True)

    train_set = RadarArchive(os.path.join(args.data, "train"), args.n_in, args.n_out, args.crop, 5, True)
    val_set = RadarArchive(os.path.join(args.data, "val"), args.n_in, args.n_out, args.crop, 15, False)
    train_loader = DataLoader(train_set, args.batch_size, shuffle=True, drop_last=True)
    val_loader = DataLoader(val_set, 2 * args.batch_size)
    print(f"{len(train_set)} training sequences, {len(val_set)} for validation")

    model = Nowcaster(args.hidden, n_out=args.n_out)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.iterations)
    print(f"{sum(p.numel() for p in model.parameters())} parameters")

    history, best, mean_loss = [], 0.0, 0.0
    batches = endless(train_loader)
    for it in range(1, args.iterations + 1):
        frames, target = next(batches)
        loss = balanced_loss(model(frames), target)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
        optimizer.step()
        schedule.step()
        mean_loss += loss.item()
        if it % 10 == 0:
            print(f"[{it:5d}] loss {mean_loss / 10:.5f} lr {schedule.get_last_lr()[0]:.2e}", flush=True)
            mean_loss = 0.0
        if it % args.val_every == 0:
            scores = evaluate(model, val_loader, args.n_out)
            for name, s in scores.items():
                print(f"  {name:12s} " + " ".join(f"{k} {v:.4f}" for k, v in s.items()))
                history.append({"iteration": it, "forecast": name, **s})
            skill = scores["convlstm"]["csi30"]
            if skill >= best:
                best = skill
                torch.save(model.state_dict(), os.path.join(args.run, "best.pt"))

    with open(os.path.join(args.run, "scores.csv"), "w", newline="") as f:
        writer = csv.DictWriter(f, history[0].keys())
        writer.writeheader()
        writer.writerows(history)


if __name__ == "__main__":
    began = time.time()
    main()
    print(f"done in {time.time() - began:.1f} s")
