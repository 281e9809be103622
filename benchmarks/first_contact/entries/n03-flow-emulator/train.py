"""Trains a patch transformer to take a tracer field one frame ahead; checks it on roll-outs."""
import argparse
import math
import os
import tempfile

import torch
from torch.nn import functional as F

from fields import Pairs, simulate
from network import Config, Emulator


def parse():
    p = argparse.ArgumentParser(description=__doc__)
    p.add_argument("--steps", type=int, default=600)
    p.add_argument("--batch-size", type=int, default=2)
    p.add_argument("--runs", type=int, default=16)
    p.add_argument("--frames", type=int, default=12)
    p.add_argument("--lr", type=float, default=6e-4)
    p.add_argument("--warmup", type=int, default=50)
    p.add_argument("--weight-decay", type=float, default=0.01)
    p.add_argument("--eval-every", type=int, default=150)
    p.add_argument("--print-every", type=int, default=25)
    p.add_argument("--seed", type=int, default=5)
    p.add_argument("--out", default=os.path.join(tempfile.gettempdir(), "emulator.pt"))
    return p.parse_args()


def learning_rate(step, args):
    if step < args.warmup:
        return args.lr * (step + 1) / args.warmup
    part = (step - args.warmup) / max(args.steps - args.warmup, 1)
    return args.lr * (0.05 + 0.95 * 0.5 * (1 + math.cos(math.pi * part)))


def gradient_loss(a, b):
    """Penalises blurred fronts: differences to the right and lower neighbours."""
    d = a - b
    return (d - d.roll(1, 2)).square().mean() + (d - d.roll(1, 3)).square().mean()


@torch.inference_mode()
def roll_out(model, frames):
    """Root mean square error after each frame when the model feeds on its own output."""
    model.eval()
    state = frames[:, 0]
    errors = []
    for t in range(1, frames.shape[1]):
        tracer = model(state)
        errors.append((tracer - frames[:, t, :1]).square().mean().sqrt().item())
        state = torch.cat([tracer, state[:, 1:]], dim=1)
    model.train()
    return errors


def main():
    args = parse()
    torch.set_num_threads(1)
    torch.manual_seed(args.seed)
    config = Config()
    train = Pairs(simulate(args.runs, args.frames, config.size, args.seed), args.batch_size, args.seed)
    held_out = simulate(3, 7, config.size, args.seed + 1)
    model = Emulator(config)
    print(f"{sum(p.numel() for p in model.parameters())} parameters, {args.runs * args.frames} frames")
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=args.weight_decay, fused=True)
    best, running = float("inf"), 0.0
    for step in range(args.steps):
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, args)
        now, after = train.batch()
        predicted = model(now)
        loss = F.mse_loss(predicted, after) + 0.1 * gradient_loss(predicted, after)
        optimizer.zero_grad()
        loss.backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        running += loss.item()
        if (step + 1) % args.print_every == 0:
            print(f"step {step + 1:4d}  loss {running / args.print_every:.4e}")
            running = 0.0
        if (step + 1) % args.eval_every == 0:
            errors = roll_out(model, held_out)
            print("roll-out error " + " ".join(f"{e:.3f}" for e in errors))
            if errors[-1] < best:
                best = errors[-1]
                torch.save({"model": model.state_dict(), "config": vars(config), "step": step + 1}, args.out)
    print(f"best error after {held_out.shape[1] - 1} frames {best:.4f}")


if __name__ == "__main__":
    main()
