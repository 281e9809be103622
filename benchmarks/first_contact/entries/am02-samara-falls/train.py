"""How a maple samara falls, from its outline and the fall so far."""

import argparse
import copy
import csv
import time
from pathlib import Path

import torch
from torch.utils.data import DataLoader

from data import Drops, split
from losses import fall_nll, landing_error
from model import FallModel


class Averaged:
    """Exponential average of the weights, for validation and the checkpoint."""

    def __init__(self, model, decay=0.995):
        self.model = copy.deepcopy(model).requires_grad_(False).eval()
        self.decay = decay

    @torch.no_grad()
    def update(self, model):
        torch._foreach_lerp_(list(self.model.parameters()), list(model.parameters()), 1 - self.decay)


def train_step(model, averaged, optimizer, outline, steps, clip):
    log_weight, mean, factor = model(outline, steps)
    loss = fall_nll(log_weight, mean, factor, steps)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    torch.nn.utils.clip_grad_norm_(model.parameters(), clip)
    optimizer.step()
    averaged.update(model)
    return loss.detach(), landing_error(log_weight, mean, steps)


@torch.no_grad()
def validate(model, loader):
    nll = missed = count = 0.0
    for outline, steps in loader:
        log_weight, mean, factor = model(outline, steps)
        nll += fall_nll(log_weight, mean, factor, steps).item() * len(steps)
        missed += landing_error(log_weight, mean, steps).item() * len(steps)
        count += len(steps)
    return nll / count, missed / count


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=24)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--clip", type=float, default=1.0)
    parser.add_argument("--out", type=Path, default=Path("runs"))
    args = parser.parse_args()
    args.out.mkdir(exist_ok=True)
    torch.manual_seed(11)

    training, held_out = split()
    loader = DataLoader(Drops(training, spin=True), batch_size=args.batch, shuffle=True, drop_last=True)
    held_loader = DataLoader(Drops(held_out), batch_size=110)

    model = FallModel()
    averaged = Averaged(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.epochs * len(loader))

    best = float("inf")
    with open(args.out / "log.csv", "w", newline="") as file:
        log = csv.writer(file)
        log.writerow(["epoch", "nll", "landing", "held_nll", "held_landing", "seconds"])
        for epoch in range(args.epochs):
            began = time.perf_counter()
            sums = torch.zeros(2)
            for outline, steps in loader:
                loss, missed = train_step(model, averaged, optimizer, outline, steps, args.clip)
                schedule.step()
                sums += torch.stack([loss, missed])
            nll, landing = (sums / len(loader)).tolist()
            held_nll, held_landing = validate(averaged.model, held_loader)
            seconds = time.perf_counter() - began
            log.writerow([epoch, nll, landing, held_nll, held_landing, seconds])
            print(
                f"{epoch:3d}  nll {nll:7.3f}  landing {landing:6.3f}  "
                f"held out {held_nll:7.3f} {held_landing:6.3f}  {seconds:5.2f} s"
            )
            if held_nll < best:
                best = held_nll
                torch.save({"model": averaged.model.state_dict(), "epoch": epoch}, args.out / "best.pt")


if __name__ == "__main__":
    main()
