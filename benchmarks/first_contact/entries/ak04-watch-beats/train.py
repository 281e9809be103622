"""Train the watch reader.

    python prepare.py && python train.py
"""
import argparse
import copy
import math
from pathlib import Path

import torch
from torch.utils.data import DataLoader

from data import Beats, load
from losses import NAMES, reading_errors, reading_loss
from model import Watcher

HERE = Path(__file__).parent


def arguments():
    parser = argparse.ArgumentParser()
    parser.add_argument("--data", type=Path, default=HERE / "beats.npz")
    parser.add_argument("--out", type=Path, default=HERE / "watcher.pt")
    parser.add_argument("--epochs", type=int, default=45)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=1.2e-3)
    parser.add_argument("--decay", type=float, default=0.05)
    parser.add_argument("--average", type=float, default=0.995)
    parser.add_argument("--check-every", type=int, default=15)
    parser.add_argument("--seed", type=int, default=7)
    return parser.parse_args()


def groups(model, decay):
    """Weight decay on matrices only."""
    matrices = [p for p in model.parameters() if p.ndim > 1]
    others = [p for p in model.parameters() if p.ndim < 2]
    return [{"params": matrices, "weight_decay": decay}, {"params": others, "weight_decay": 0.0}]


def schedule(steps, warm=60):
    def factor(step):
        if step < warm:
            return (step + 1) / warm
        return 0.03 + 0.97 * 0.5 * (1 + math.cos(math.pi * (step - warm) / max(1, steps - warm)))
    return factor


@torch.no_grad()
def validate(model, batches):
    model.eval()
    errors, count = torch.zeros(4), 0
    for bands, kind, reading in batches:
        errors += reading_errors(model(bands), kind, reading)
        count += len(bands)
    return (errors / count).tolist()


def main():
    args = arguments()
    torch.manual_seed(args.seed)
    training, held_out, periods = load(args.data)
    loader = DataLoader(
        Beats(*training, periods, seed=args.seed), batch_size=args.batch, shuffle=True, drop_last=True)
    checks = list(DataLoader(Beats(*held_out, periods), batch_size=64))

    model = Watcher(periods.tolist())
    average = copy.deepcopy(model).requires_grad_(False)
    live, slow = list(model.parameters()), list(average.parameters())
    optimizer = torch.optim.AdamW(groups(model, args.decay), lr=args.lr, betas=(0.9, 0.98), fused=True)
    pace = torch.optim.lr_scheduler.LambdaLR(optimizer, schedule(args.epochs * len(loader)))

    for epoch in range(1, args.epochs + 1):
        model.train()
        totals = torch.zeros(len(NAMES))
        for bands, kind, reading in loader:
            loss, parts = reading_loss(model(bands), kind, reading)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(live, 1.0)
            optimizer.step()
            pace.step()
            with torch.no_grad():
                torch._foreach_lerp_(slow, live, 1 - args.average)
            totals += parts
        means = (totals / len(loader)).tolist()
        print(f"epoch {epoch:3d}  " + "  ".join(f"{n} {v:.4f}" for n, v in zip(NAMES, means)), flush=True)

        if epoch % args.check_every == 0 or epoch == args.epochs:
            right, amplitude, error, phase = validate(average, checks)
            print(f"  held out: kind {right:.1%}, amplitude {amplitude:.1f} deg, "
                  f"beat error {error:.2f} ms, phase {phase:.1f} deg", flush=True)

    torch.save({"model": average.state_dict(), "periods": periods}, args.out)


if __name__ == "__main__":
    main()
