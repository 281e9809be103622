"""Fill in magnetic surveys between the flight lines with a neural process."""
import argparse
import math
import time

import torch

from process import KernelProcess
from surveys import TaskSampler, load_surveys

torch.set_default_dtype(torch.float64)


def parse_args():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="surveys.npz")
    p.add_argument("--held-out", type=int, default=6)
    p.add_argument("--tasks", type=int, default=16)
    p.add_argument("--context", type=int, default=64)
    p.add_argument("--target", type=int, default=160)
    p.add_argument("--epochs", type=int, default=30)
    p.add_argument("--steps-per-epoch", type=int, default=40)
    p.add_argument("--left-out", type=int, default=60)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=2)
    return p.parse_args()


def gaussian_nll(mean, sigma, value):
    return (torch.log(sigma) + 0.5 * ((value - mean) / sigma) ** 2 + 0.5 * math.log(2 * math.pi)).mean()


@torch.no_grad()
def leave_one_out(model, stations, count, neighbours=200):
    """Root mean square error of stations predicted from all others, averaged over the surveys."""
    model.eval()
    errors = []
    for survey in stations:
        known = survey[torch.linspace(0, len(survey) - 1, neighbours).long()]
        squared = 0.0
        for i in range(count):
            others = torch.cat([known[:i], known[i + 1:]]).unsqueeze(0)
            mean, _ = model(others, known[i:i + 1, :2].unsqueeze(0))
            squared += (mean.item() - known[i, 2].item()) ** 2
        errors.append(math.sqrt(squared / count))
    model.train()
    return sum(errors) / len(errors)


def main():
    args = parse_args()
    torch.manual_seed(args.seed)
    train, val = load_surveys(args.data, args.held_out)
    sampler = TaskSampler(train, args.tasks, args.context, args.target, args.seed)
    model = KernelProcess()
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * args.steps_per_epoch)
    print(f"{len(train)} surveys to train on, {len(val)} held out")

    best = float("inf")
    for epoch in range(args.epochs):
        began = time.time()
        running = 0.0
        for _ in range(args.steps_per_epoch):
            context, target = sampler.batch()
            mean, sigma = model(context, target[..., :2])
            loss = gaussian_nll(mean, sigma, target[..., 2])
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            optimizer.step()
            scheduler.step()
            running += loss.item()

        rmse = leave_one_out(model, val, args.left_out)
        print(f"epoch {epoch:2d} nll {running / args.steps_per_epoch:.3f} left-out rmse {rmse:.3f} "
              f"{time.time() - began:.1f}s")
        if rmse < best:
            best = rmse
            torch.save(model.state_dict(), "survey.pt")


if __name__ == "__main__":
    main()
