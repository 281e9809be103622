"""Who wins a judo bout, by which score: ratings of styles and throws from simulated tournament draws."""
import math
import os
import random

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F

SETTINGS = dict(
    seed=17,
    judoka=2400,
    throws=66,
    bouts=30_000,
    batch=512,
    style=48,
    latent=40,
    lr=1.5e-3,
    decay=1e-4,
    steps=2400,
    report=200,
    out="bouts.pt",
)
RESULTS = ("white ippon", "white waza-ari", "decision", "blue waza-ari", "blue ippon")


class Circuit:
    """All bouts of the circuit: who met whom, what each tried, how it ended."""

    def __init__(self, cfg):
        rng = np.random.default_rng(cfg["seed"])
        n = cfg["bouts"]
        skill = rng.normal(size=(cfg["judoka"], 6))
        white = rng.integers(0, cfg["judoka"], n)
        blue = (white + rng.integers(1, cfg["judoka"], n)) % cfg["judoka"]
        likes = rng.gamma(0.5, size=(cfg["judoka"], cfg["throws"]))
        attempts = [rng.poisson(1.5 * likes[side]) for side in (white, blue)]
        twist = rng.normal(size=(6, 6)) / 3
        edge = np.einsum("bi,ij,bj->b", skill[white], twist, skill[blue]) + (skill[white] - skill[blue])[:, 0]
        edge = edge + rng.normal(scale=0.5, size=n)
        self.result = torch.from_numpy(np.digitize(-edge, [-1.6, -0.5, 0.5, 1.6]))
        self.white, self.blue = torch.from_numpy(white), torch.from_numpy(blue)
        self.white_tries = torch.from_numpy(attempts[0].astype(np.float32))
        self.blue_tries = torch.from_numpy(attempts[1].astype(np.float32))
        self.minutes = torch.from_numpy(rng.exponential(2.5, n).clip(0.1, 12).astype(np.float32))
        self.held = n - n // 12

    def bouts(self, rows):
        return (self.white[rows], self.blue[rows], self.white_tries[rows], self.blue_tries[rows],
                self.minutes[rows], self.result[rows])


class Side(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.who = nn.Embedding(cfg["judoka"], cfg["style"])
        self.tries = nn.Linear(cfg["throws"], cfg["style"], bias=False)
        self.mix = nn.Sequential(nn.LayerNorm(cfg["style"]), nn.Linear(cfg["style"], cfg["style"]), nn.SiLU())
        nn.init.normal_(self.who.weight, std=0.3)

    def forward(self, judoka, tries, minutes):
        rate = torch.log1p(tries / minutes[:, None])
        return self.mix(self.who(judoka) + self.tries(rate))


class Bout(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.side = Side(cfg)
        self.grip = nn.Bilinear(cfg["style"], cfg["style"], cfg["latent"])
        self.body = nn.Sequential(
            nn.Linear(cfg["latent"] + 2 * cfg["style"], 128), nn.SiLU(), nn.Dropout(0.1),
            nn.Linear(128, 128), nn.SiLU(),
        )
        self.ending = nn.Linear(128, len(RESULTS))
        self.length = nn.Linear(128, 2)

    def forward(self, white, blue, white_tries, blue_tries, minutes):
        w = self.side(white, white_tries, minutes)
        b = self.side(blue, blue_tries, minutes)
        h = self.body(torch.cat([self.grip(w, b), w, b], dim=1))
        return self.ending(h), self.length(h)


def objective(model, bout):
    *given, minutes, result = bout
    logits, length = model(*given, minutes)
    mean, log_scale = length.unbind(1)
    timing = 0.5 * ((minutes.log() - mean) * torch.exp(-log_scale)) ** 2 + log_scale
    return F.cross_entropy(logits, result) + 0.2 * timing.mean(), logits


@torch.no_grad()
def held_out(model, circuit):
    model.eval()
    rows = torch.arange(circuit.held, len(circuit.result))
    loss, logits = objective(model, circuit.bouts(rows))
    model.train()
    return loss.item(), (logits.argmax(1) == circuit.result[rows]).float().mean().item()


def learning_rate(step, cfg):
    warm = min(1.0, (step + 1) / 100)
    return cfg["lr"] * warm * 0.5 * (1 + math.cos(math.pi * step / cfg["steps"]))


def run(cfg):
    random.seed(cfg["seed"])
    torch.manual_seed(cfg["seed"])
    circuit = Circuit(cfg)
    model = Bout(cfg)
    optimizer = torch.optim.NAdam(model.parameters(), lr=cfg["lr"], weight_decay=cfg["decay"])
    best = float("inf")
    running = torch.zeros(())
    step = 0
    while step < cfg["steps"]:
        for group in optimizer.param_groups:
            group["lr"] = learning_rate(step, cfg)
        rows = torch.randint(0, circuit.held, (cfg["batch"],))
        loss, _ = objective(model, circuit.bouts(rows))
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        optimizer.step()
        running += loss.detach()
        step += 1
        if step % cfg["report"] == 0:
            value, right = held_out(model, circuit)
            print(f"{step:5d}  train {running.item() / cfg['report']:.4f}  held {value:.4f}  right {right:.3f}", flush=True)
            running.zero_()
            if value < best:
                best = value
                torch.save(model.state_dict(), cfg["out"] + ".tmp")
                os.replace(cfg["out"] + ".tmp", cfg["out"])


if __name__ == "__main__":
    run(SETTINGS)
