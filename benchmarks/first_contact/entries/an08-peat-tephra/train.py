import copy
import logging
import math

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

from cores import ELEMENTS, peat_core

logging.basicConfig(level=logging.INFO, format="%(asctime)s %(message)s", datefmt="%H:%M:%S")
log = logging.getLogger("tephra")

WINDOW = 320
BATCH = 16
STEPS = 1500
CHECK_EVERY = 15
PATIENCE = 60


class Residual(nn.Module):
    def __init__(self, width, dilation):
        super().__init__()
        self.spread = nn.Conv1d(width, width, 5, padding=2 * dilation, dilation=dilation)
        self.norm = nn.GroupNorm(4, width)
        self.mix = nn.Conv1d(width, width, 1)

    def forward(self, x):
        return x + self.mix(F.relu(self.norm(self.spread(x))))


class CoreReader(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        self.start = nn.Conv1d(len(ELEMENTS), width, 1)
        self.blocks = nn.Sequential(*[Residual(width, 2 ** k) for k in range(5)])
        self.end = nn.Conv1d(width, 3, 1)

    def forward(self, counts):
        return self.end(self.blocks(self.start(counts)))


def windows(cores, rng):
    xs, ys = [], []
    for _ in range(BATCH):
        counts, label = cores[rng.integers(len(cores))]
        at = rng.integers(0, len(label) - WINDOW)
        xs.append(counts[:, at:at + WINDOW])
        ys.append(label[at:at + WINDOW])
    gain = rng.uniform(0.8, 1.25, (BATCH, len(ELEMENTS), 1)).astype(np.float32)
    return torch.from_numpy(np.stack(xs) * gain), torch.from_numpy(np.stack(ys))


def check(model, counts, label):
    model.eval()
    with torch.no_grad():
        guess = torch.cat([model(c).argmax(1) for c in counts.split(1)])
    model.train()
    scores = []
    for kind in (1, 2):
        hit = ((guess == kind) & (label == kind)).sum()
        scores.append((2 * hit / ((guess == kind).sum() + (label == kind).sum()).clamp(min=1)).item())
    return scores


def main():
    rng = np.random.default_rng(64)
    torch.manual_seed(64)
    cores = [peat_core(rng) for _ in range(20)]
    held, cores = cores[:2], cores[2:]
    held_counts = torch.from_numpy(np.stack([c for c, _ in held]))
    held_label = torch.from_numpy(np.stack([l for _, l in held]))

    model = CoreReader()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1.5e-3, weight_decay=0.01, fused=True)
    weights = torch.tensor([0.4, 2.0, 1.5])
    best, best_state, since = -1.0, None, 0
    for step in range(1, STEPS + 1):
        optimizer.param_groups[0]["lr"] = 1.5e-3 * 0.5 * (1 + math.cos(math.pi * step / STEPS))
        counts, label = windows(cores, rng)
        logits = model(counts)
        loss = F.cross_entropy(logits, label, weight=weights)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 3.0)
        optimizer.step()
        log.debug(f"step {step}: loss {loss}, gradient norm {norm}, logits {logits}, label {label}")
        log.debug(f"gradients {[(name, p.grad.abs().max()) for name, p in model.named_parameters()]}")

        if step % CHECK_EVERY == 0:
            scores = check(model, held_counts, held_label)
            if sum(scores) > best:
                best, since = sum(scores), 0
                best_state = copy.deepcopy(model.state_dict())
            else:
                since += 1
            if step % (10 * CHECK_EVERY) == 0:
                log.info("step %d  loss %.4f  glass %.3f  inwash %.3f  best %.3f", step, loss.item(), *scores, best)
            if since >= PATIENCE:
                log.info("no better for %d checks", since)
                break
    torch.save(best_state, "tephra.pt")


if __name__ == "__main__":
    main()
