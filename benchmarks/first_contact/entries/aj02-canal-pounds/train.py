"""Learn a simulator of the water levels of a canal from its record and roll it out for two hours and a half."""
import argparse
import json
import math
import time

import torch
import torch.nn.functional as F

from data import STEPS_A_DAY, Canal
from ema import Average
from model import PoundSimulator


def rollout_loss(ours, true, weight, area):
    """Levels, later ones counting less, and the water held by the whole canal."""
    error = F.smooth_l1_loss(ours, true, reduction="none", beta=0.1).mean(dim=(0, 2))
    volume = ((ours - true) * area).sum(dim=-1) / area.sum()
    return (weight * error).sum() + 0.1 * (weight * volume.square().mean(dim=0)).sum()


@torch.inference_mode()
def validate(model, canal, days=1):
    """Mean error in centimetres at the end of a whole day, batches of 64 windows."""
    ahead = torch.arange(days * STEPS_A_DAY)
    total, persisted, seen = torch.zeros(()), torch.zeros(()), 0
    for starts in canal.test_starts.split(64):
        past, forcing, true = canal.windows(starts, ahead)
        ours = model(past, forcing)
        total += (ours[:, -1] - true[:, -1]).abs().sum()
        persisted += (past[:, -1] - true[:, -1]).abs().sum()
        seen += true[:, -1].numel()
    scale = 100 * canal.scale / seen
    return (scale * total).item(), (scale * persisted).item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--record", default="canal.npz")
    parser.add_argument("--epochs", type=int, default=15)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--horizon", type=int, default=10)
    parser.add_argument("--memory", type=int, default=6)
    parser.add_argument("--noise", type=float, default=0.01)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--seed", type=int, default=12)
    args = parser.parse_args()
    torch.manual_seed(args.seed)
    generator = torch.Generator().manual_seed(args.seed)

    canal = Canal(args.record, args.horizon, args.memory)
    model = PoundSimulator(canal.level.shape[1], memory=args.memory)
    average = Average(model)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=1e-4, fused=True)
    total = args.epochs * args.steps
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda step: min(1.0, (step + 1) / 100) * 0.5 * (1 + math.cos(math.pi * step / total))
    )
    weight = 0.9 ** torch.arange(args.horizon)
    weight /= weight.sum()

    best = float("inf")
    with open("levels.jsonl", "w") as log:
        for epoch in range(args.epochs):
            began = time.perf_counter()
            losses, skipped = [], 0
            for past, forcing, true in canal.batches(args.batch, args.steps, generator):
                past = past + args.noise * torch.randn_like(past)
                loss = rollout_loss(model(past, forcing), true, weight, canal.area)
                value = loss.item()
                if not math.isfinite(value):
                    skipped += 1
                    continue
                optimizer.zero_grad(set_to_none=True)
                loss.backward()
                torch.nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
                optimizer.step()
                schedule.step()
                average.update()
                losses.append(value)
            row = {"epoch": epoch, "loss": sum(losses) / max(len(losses), 1), "skipped": skipped}
            row["seconds"] = round(time.perf_counter() - began, 2)
            if epoch % 5 == 4:
                row["day_cm"], row["persistence_cm"] = validate(average.model, canal)
                if row["day_cm"] < best:
                    best = row["day_cm"]
                    torch.save(average.model.state_dict(), "simulator.pt")
            log.write(json.dumps(row) + "\n")
            log.flush()
            print(row, flush=True)


if __name__ == "__main__":
    main()
