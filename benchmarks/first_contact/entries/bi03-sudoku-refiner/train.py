"""Trains the refiner on generated puzzles, harder ones as it goes; keeps an average of the weights."""
import copy
import csv
import math
import time
from pathlib import Path

import torch
import torch.nn.functional as F

from model import Refiner
from puzzles import broken_rules, stream

CONFIG = dict(steps=1200, batch=24, lr=6e-4, warmup=100, decay=0.01, average=0.998, seed=11, clip=1.0,
              dim=128, heads=4, layers=2, rounds=4, report=25, check=200, levels=[(10, 30), (20, 45), (30, 55)])


def weights_of_rounds(rounds):
    w = torch.arange(1, rounds + 1, dtype=torch.float32)
    return w / w.sum()


def round_losses(logits, given, solution):
    """Mean cross entropy over the hidden cells, one number a round."""
    hidden = (given == 0)
    picked = logits[:, hidden]
    target = solution[hidden].expand(logits.shape[0], -1)
    loss = F.cross_entropy(picked.flatten(0, 1), target.flatten(), reduction="none")
    return loss.view(logits.shape[0], -1).mean(1)


class Average:
    def __init__(self, model, rate):
        self.model, self.rate = copy.deepcopy(model).eval().requires_grad_(False), rate
        self.mine, self.theirs = list(self.model.parameters()), list(model.parameters())

    @torch.no_grad()
    def update(self):
        torch._foreach_lerp_(self.mine, self.theirs, 1 - self.rate)


def lr_at(step, cfg):
    if step < cfg["warmup"]:
        return (step + 1) / cfg["warmup"]
    return 0.5 + 0.5 * math.cos(math.pi * (step - cfg["warmup"]) / (cfg["steps"] - cfg["warmup"]))


@torch.inference_mode()
def check(model, puzzles):
    right = cells = 0
    solved, broken = [], []
    for given, solution in puzzles:
        answer = model(given)[-1].argmax(-1)
        answer = torch.where(given > 0, given - 1, answer)
        hidden = given == 0
        right += ((answer == solution) & hidden).sum().item()
        cells += hidden.sum().item()
        solved.append((answer == solution).all(1).float().mean())
        broken.append(broken_rules(answer))
    return right / cells, torch.stack(solved).mean().item(), torch.stack(broken).mean().item()


def main(cfg):
    torch.manual_seed(cfg["seed"])
    model = Refiner(cfg["dim"], cfg["heads"], cfg["layers"], cfg["rounds"])
    average = Average(model, cfg["average"])
    optimizer = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=cfg["decay"], betas=(0.9, 0.95), fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda s: lr_at(s, cfg))
    weight = weights_of_rounds(cfg["rounds"])
    sources = [stream(cfg["batch"], level, cfg["seed"] + i) for i, level in enumerate(cfg["levels"])]
    held_out = stream(64, cfg["levels"][1], 991)
    puzzles = [next(held_out) for _ in range(4)]

    out = Path("solver")
    out.mkdir(exist_ok=True)
    table = csv.writer(open(out / "progress.csv", "w", newline=""))
    table.writerow(["step", "first", "last", "cells", "solved", "broken"])
    totals, began = torch.zeros(cfg["rounds"]), time.perf_counter()
    for step in range(1, cfg["steps"] + 1):
        level = min(len(sources) - 1, step * len(sources) // cfg["steps"])
        given, solution = next(sources[level])
        losses = round_losses(model(given), given, solution)
        optimizer.zero_grad(set_to_none=True)
        (losses @ weight).backward()
        torch.nn.utils.clip_grad_norm_(model.parameters(), cfg["clip"])
        optimizer.step()
        schedule.step()
        average.update()
        totals += losses.detach()

        if step % cfg["report"] == 0:
            first, *_, last = (totals / cfg["report"]).tolist()
            pace = (time.perf_counter() - began) / cfg["report"] * 1e3
            print(f"{step:5d}  level {level}  first round {first:.3f}  last {last:.3f}  {pace:.0f} ms", flush=True)
            totals.zero_()
            began = time.perf_counter()
        if step % cfg["check"] == 0:
            cells, solved, broken = check(average.model, puzzles)
            print(f"{step:5d}  cells {cells:.3f}  solved {solved:.3f}  broken {broken:.3f}", flush=True)
            table.writerow([step, first, last, cells, solved, broken])
            torch.save(dict(model=average.model.state_dict(), config=cfg), out / "refiner.pt")
            began = time.perf_counter()


if __name__ == "__main__":
    main(CONFIG)
