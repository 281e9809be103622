#!/usr/bin/env python
"""Train N-BEATS on simulated meters: one week of history, one day ahead."""
import argparse
import time

import torch

from nbeats import NBeats
from series import Windows, simulate


def smape(forecast, truth):
    return 200 * ((forecast - truth).abs() / (forecast.abs() + truth.abs() + 1e-6)).mean()


@torch.inference_mode()
def validate(model, windows):
    model.eval()
    past, future = windows.last()
    score = smape(model(past), future).item()
    model.train()
    return score


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=500)
    p.add_argument("--batch-size", type=int, default=512)
    p.add_argument("--history", type=int, default=168)
    p.add_argument("--horizon", type=int, default=24)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--check-every", type=int, default=50)
    args = p.parse_args()

    torch.manual_seed(0)
    generator = torch.Generator().manual_seed(1)
    load = simulate()
    train = Windows(load[:, :-24 * 7], args.history, args.horizon)
    valid = Windows(load, args.history, args.horizon)
    model = NBeats(args.history, args.horizon)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-3, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.steps)

    total, started = torch.zeros(()), time.perf_counter()
    for step in range(1, args.steps + 1):
        past, future = train.sample(args.batch_size, generator)
        loss = (model(past) - future).abs().mean()
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.detach()
        if step % args.check_every == 0:
            ms = (time.perf_counter() - started) / step * 1e3
            print(f"step {step:4d}  mae {total.item() / args.check_every:.4f}  "
                  f"smape {validate(model, valid):.2f}  {ms:.1f} ms")
            total.zero_()


if __name__ == "__main__":
    main()
