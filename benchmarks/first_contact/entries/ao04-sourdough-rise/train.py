"""How high will the starter stand in the next four hours? Quantiles of the rise, by a residual MLP."""
import copy
import time

import torch
from torch import nn

from dough import SENSORS, STATIC, Windows, ferment

PAST, AHEAD = 96, 24
QUANTILES = torch.linspace(0.05, 0.95, 9)
BATCH, EPOCHS, STEPS_AN_EPOCH = 96, 32, 90
LR, DECAY, KEEP = 8e-4, 1e-2, 0.995


class Residual(nn.Module):
    def __init__(self, width, inner, drop):
        super().__init__()
        self.norm = nn.LayerNorm(width)
        self.up = nn.Linear(width, inner)
        self.down = nn.Linear(inner, width)
        self.drop = nn.Dropout(drop)

    def forward(self, x):
        return x + self.down(self.drop(torch.relu(self.up(self.norm(x)))))


class RiseForecast(nn.Module):
    def __init__(self, width=256, inner=512, depth=3, drop=0.1):
        super().__init__()
        self.enter = nn.Linear(PAST * SENSORS + STATIC, width)
        self.blocks = nn.Sequential(*(Residual(width, inner, drop) for _ in range(depth)))
        self.leave = nn.Sequential(nn.LayerNorm(width), nn.Linear(width, AHEAD * len(QUANTILES)))

    def forward(self, x):
        out = self.leave(self.blocks(self.enter(x))).unflatten(1, (AHEAD, len(QUANTILES)))
        return out.sort(dim=-1).values


def pinball(guess, truth):
    gap = truth.unsqueeze(-1) - guess
    return torch.maximum(QUANTILES * gap, (QUANTILES - 1) * gap).mean()


class Averaged:
    def __init__(self, model, keep):
        self.model = copy.deepcopy(model).requires_grad_(False).eval()
        self.mine, self.theirs = list(self.model.parameters()), list(model.parameters())
        self.keep = keep

    @torch.no_grad()
    def follow(self):
        torch._foreach_lerp_(self.mine, self.theirs, 1 - self.keep)


@torch.inference_mode()
def score(model, windows, rows):
    losses, inside = [], []
    for part in rows.split(1024):
        x, truth = windows.cut(part)
        guess = model(x)
        losses.append(pinball(guess, truth) * len(part))
        inside.append(((truth >= guess[..., 0]) & (truth <= guess[..., -1])).float().mean() * len(part))
    return (sum(losses) / len(rows)).item(), (sum(inside) / len(rows)).item()


def main():
    torch.manual_seed(8)
    jars, static = ferment(140, 700, seed=8)
    train = Windows(jars[:120], static[:120], PAST, AHEAD)
    held = Windows(jars[120:], static[120:], PAST, AHEAD)
    held_rows = torch.randperm(len(held))[:1536]

    model = RiseForecast()
    averaged = Averaged(model, KEEP)
    optimizer = torch.optim.AdamW(model.parameters(), lr=LR, weight_decay=DECAY, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, EPOCHS * STEPS_AN_EPOCH, eta_min=1e-5)
    best = float("inf")

    for epoch in range(EPOCHS):
        start, total = time.perf_counter(), torch.zeros(())
        order = torch.randperm(len(train))[:STEPS_AN_EPOCH * BATCH]
        for rows in order.split(BATCH):
            x, truth = train.cut(rows)
            loss = pinball(model(x), truth)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0, foreach=True)
            optimizer.step()
            averaged.follow()
            schedule.step()
            total += loss.detach()
        loss_held, inside = score(averaged.model, held, held_rows)
        if loss_held < best:
            best = loss_held
            torch.save(averaged.model.state_dict(), "rise.pt")
        print(f"[{epoch:02d}] train {total.item() / STEPS_AN_EPOCH:.5f}  held {loss_held:.5f}  "
              f"inside 90% band {inside:.1%}  {time.perf_counter() - start:.1f}s", flush=True)


if __name__ == "__main__":
    main()
