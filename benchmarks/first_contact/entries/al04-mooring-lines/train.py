"""Probabilistic forecast of peak mooring-line tensions, up to one minute ahead, from vessel motions."""
import argparse
import csv
import time

import torch
from torch import nn
from torch.utils.data import DataLoader

from data import Campaign, HeldOut, StormWindows
from model import TensionEnsemble
from scores import coverage, ensemble_crps


def options():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="campaign.npz")
    p.add_argument("--epochs", type=int, default=18)
    p.add_argument("--steps", type=int, default=70)
    p.add_argument("--batch", type=int, default=24)
    p.add_argument("--members", type=int, default=36)
    p.add_argument("--lr", type=float, default=1.5e-3)
    p.add_argument("--seed", type=int, default=11)
    p.add_argument("--log", default="progress.csv")
    p.add_argument("--threads", type=int, default=1)
    return p.parse_args()


class Average:
    """Running mean of the weights for evaluation."""

    def __init__(self, model, decay=0.995):
        self.live = [p for p in model.parameters()]
        self.mean = [p.detach().clone() for p in self.live]
        self.decay = decay

    @torch.no_grad()
    def update(self):
        torch._foreach_lerp_(self.mean, self.live, 1 - self.decay)

    @torch.no_grad()
    def swap(self):
        for p, m in zip(self.live, self.mean):
            kept = p.clone()
            p.copy_(m)
            m.copy_(kept)


@torch.no_grad()
def validate(model, loader, members):
    model.eval()
    crps = inside = count = 0.0
    for past, peaks in loader:
        forecast = model(past, members)
        n = past.shape[0]
        crps += ensemble_crps(forecast, peaks).item() * n
        inside += coverage(forecast, peaks).item() * n
        count += n
    model.train()
    return crps / count, inside / count


def main():
    opt = options()
    torch.set_num_threads(opt.threads)
    torch.manual_seed(opt.seed)
    campaign = Campaign(opt.data)
    records = range(campaign.motion.shape[0])
    train_set = StormWindows(campaign, records[:-4], opt.steps * opt.batch, opt.seed)
    held_out = HeldOut(campaign, records[-4:])
    loader = DataLoader(train_set, batch_size=opt.batch)
    val_loader = DataLoader(held_out, batch_size=64)

    model = TensionEnsemble()
    average = Average(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=opt.lr, weight_decay=1e-4)
    schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, opt.lr, total_steps=opt.epochs * opt.steps)

    with open(opt.log, "w", newline="") as file:
        log = csv.writer(file)
        log.writerow(["epoch", "train_crps", "val_crps", "coverage90", "grad_norm", "seconds"])
        for epoch in range(opt.epochs):
            began = time.time()
            total, steepness = torch.zeros(()), torch.zeros(())
            for past, peaks in loader:
                forecast = model(past, opt.members)
                loss = ensemble_crps(forecast, peaks)
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                norm = nn.utils.clip_grad_norm_(model.parameters(), 2.0)
                optimizer.step()
                schedule.step()
                average.update()
                total += loss.detach()
                steepness += norm

            average.swap()
            val, inside = validate(model, val_loader, opt.members)
            average.swap()
            row = [epoch, total.item() / opt.steps, val, inside, steepness.item() / opt.steps, time.time() - began]
            log.writerow([f"{v:.4f}" if isinstance(v, float) else v for v in row])
            file.flush()
            print(f"{epoch:3d}  crps {row[1]:.4f}  held out {val:.4f}  inside 90%: {inside:.3f}  {row[-1]:.1f} s", flush=True)


if __name__ == "__main__":
    main()
