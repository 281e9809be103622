"""Learns to find the vessel type of a sherd: fragments and catalogue drawings share one embedding space."""
import argparse
import copy
import csv
import ctypes
import math
import time

import torch
from torch.nn import functional as F

from augment import break_up, redraw, settle
from data import endless_batches, load
from mining import NegativeSampler
from model import ProfileEncoder


def keep_freed_memory():
    """glibc: freed activations stay with the process instead of going back to the system after every step."""
    libc = ctypes.CDLL(None)
    if hasattr(libc, "mallopt"):
        libc.mallopt(-1, 2**31 - 1)       # M_TRIM_THRESHOLD
        libc.mallopt(-2, 64 * 2**20)      # M_TOP_PAD
        libc.mallopt(-4, 0)               # M_MMAP_MAX


@torch.inference_mode()
def embed(model, points, size=200):
    return torch.cat([model(settle(part)) for part in points.split(size)])


@torch.inference_mode()
def evaluate(model, fragments, kinds, catalogue):
    """Share of sherds whose type is first, and among the first five types, and the mean reciprocal rank."""
    alike = embed(model, fragments) @ embed(model, catalogue.points).T
    types = int(catalogue.kind.max()) + 1
    best = alike.view(len(kinds), types, -1).amax(2)
    rank = (best > best.gather(1, kinds[:, None])).sum(1) + 1
    return {"first": (rank == 1).float().mean(), "five": (rank <= 5).float().mean(), "mrr": (1 / rank).mean()}


def contrast(sherds, vessels, kinds, vessel_kinds, temperature):
    """InfoNCE; other vessels of the sherd's own type are no negatives."""
    logits = sherds @ vessels.T / temperature
    same = kinds[:, None] == vessel_kinds
    same.fill_diagonal_(False)
    return F.cross_entropy(logits.masked_fill(same, -math.inf), torch.arange(len(sherds)))


def parameter_groups(model, decay):
    matrices = [p for p in model.parameters() if p.ndim > 1]
    vectors = [p for p in model.parameters() if p.ndim <= 1]
    return [{"params": matrices, "weight_decay": decay}, {"params": vectors, "weight_decay": 0.0}]


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default="profiles.npz")
    p.add_argument("--steps", type=int, default=15000)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--temperature", type=float, default=0.07)
    p.add_argument("--average", type=float, default=0.995)
    p.add_argument("--mine-every", type=int, default=80)
    p.add_argument("--log-every", type=int, default=25)
    p.add_argument("--check-every", type=int, default=400)
    a = p.parse_args()

    keep_freed_memory()
    torch.manual_seed(3)
    chance = torch.Generator().manual_seed(4)
    sets = load(a.data)
    recorded, catalogue, held = sets["recorded"], sets["catalogue"], sets["held"]
    fragments = break_up(held.points, torch.Generator().manual_seed(5))

    model = ProfileEncoder()
    averaged = copy.deepcopy(model).requires_grad_(False)
    weights, averages = list(model.parameters()), list(averaged.parameters())
    optimizer = torch.optim.AdamW(parameter_groups(model, 0.01), lr=a.lr, fused=True)
    warm = 300
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / warm, 0.5 + 0.5 * math.cos(math.pi * s / a.steps))
    )
    sampler = NegativeSampler(recorded, catalogue, chance)
    batches = endless_batches(len(recorded), a.batch, chance)

    best, summed, since = 0.0, torch.zeros(()), time.perf_counter()
    with open("history.csv", "w", newline="") as file:
        history = csv.writer(file)
        history.writerow(["step", "loss", "first", "five", "mrr"])
        for step in range(a.steps):
            if step % a.mine_every == 0:
                sampler.refresh(embed(averaged, catalogue.points))

            index = next(batches)
            kinds = recorded.kind[index]
            positive, negative = sampler.draw(kinds)
            facing = torch.cat([positive, negative])
            broken = break_up(recorded.points[index], chance)
            drawn = redraw(torch.cat([broken, catalogue.points[facing]]), chance)

            sherds, vessels = model(settle(drawn)).split([len(index), len(facing)])
            loss = contrast(sherds, vessels, kinds, catalogue.kind[facing], a.temperature)
            optimizer.zero_grad()
            loss.backward()
            torch.nn.utils.clip_grad_norm_(weights, 1.0, foreach=True)
            optimizer.step()
            schedule.step()
            with torch.no_grad():
                torch._foreach_lerp_(averages, weights, 1 - a.average)
            summed += loss.detach()

            if (step + 1) % a.log_every == 0:
                mean = summed.item() / a.log_every
                summed.zero_()
                pace = (time.perf_counter() - since) / a.log_every * 1e3
                since = time.perf_counter()
                history.writerow([step + 1, f"{mean:.4f}", "", "", ""])
                print(f"step {step + 1:6d}  loss {mean:.4f}  {pace:.1f} ms")
            if (step + 1) % a.check_every == 0:
                found = {name: value.item() for name, value in evaluate(averaged, fragments, held.kind, catalogue).items()}
                history.writerow([step + 1, "", *(f"{value:.4f}" for value in found.values())])
                file.flush()
                print("  " + "  ".join(f"{name} {value:.3f}" for name, value in found.items()))
                if found["mrr"] > best:
                    best = found["mrr"]
                    torch.save({"model": averaged.state_dict(), "step": step + 1, "mrr": best}, "best.pt")


if __name__ == "__main__":
    main()
