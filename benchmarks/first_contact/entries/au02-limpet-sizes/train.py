"""Radius of limpets on rock from small photographs: polar unwrapping, a convolutional regressor with a
mean teacher for the photographs nobody measured."""
import math

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

CFG = dict(size=64, rings=24, angles=48, batch=12, loose=12, width=12, rate=3e-3, steps=1800, report=200, keep=0.99, seed=4)


def rocks(count, rng, size):
    y, x = np.mgrid[0:size, 0:size].astype(np.float32) - size / 2
    pictures = np.empty((count, 3, size, size), np.uint8)
    radius = rng.uniform(5, 26, count).astype(np.float32)
    for i, r in enumerate(radius):
        cx, cy = rng.normal(0, 1.5, 2)
        d, a = np.hypot(x - cx, y - cy), np.arctan2(y - cy, x - cx)
        ribs = sum(rng.normal(0, 0.06) * np.cos(k * a + rng.uniform(0, 6.28)) for k in (2, 3, 5, 11, 17, 23))
        edge = 1 / (1 + np.exp((d - r * (1 + ribs)) / 0.8))
        rock = rng.normal(0.55, 0.08, (3, 1, 1)) + rng.normal(0, 0.06, (3, size, size))
        shell = np.array([0.78, 0.62, 0.25])[:, None, None] * rng.uniform(0.7, 1.1) + rng.normal(0, 0.05, (3, size, size))
        pictures[i] = np.clip((rock * (1 - edge) + shell * edge) * 255, 0, 255)
    return torch.from_numpy(pictures), torch.from_numpy(radius)


class Unwrap(nn.Module):
    """rows: distance from the middle, columns: angle; each picture turned and shifted on its own"""

    def __init__(self, rings, angles):
        super().__init__()
        r = torch.linspace(0.03, 1.0, rings)[:, None].expand(rings, angles)
        a = torch.linspace(0, 2 * math.pi * (1 - 1 / angles), angles)[None].expand(rings, angles)
        self.register_buffer("r", r.contiguous())
        self.register_buffer("a", a.contiguous())

    def forward(self, pictures, turn, shift):
        a = self.a + turn[:, None, None]
        grid = torch.stack([self.r * torch.cos(a), self.r * torch.sin(a)], -1) + shift[:, None, None, :]
        return F.grid_sample(pictures, grid, mode="bilinear", padding_mode="reflection", align_corners=False)


class Ring(nn.Module):
    def __init__(self, c, d, stride=1):
        super().__init__()
        self.conv = nn.Conv2d(c, d, 3, stride=stride, padding=(1, 0), bias=False)
        self.norm = nn.GroupNorm(4, d)

    def forward(self, x):
        x = F.pad(x, (1, 1, 0, 0), mode="circular")
        return F.silu(self.norm(self.conv(x)))


def regressor(width):
    return nn.Sequential(
        Ring(3, width), Ring(width, width), Ring(width, 2 * width, 2), Ring(2 * width, 2 * width),
        Ring(2 * width, 4 * width, 2), nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(4 * width, 2),
    )


class Shore:
    def __init__(self, cfg):
        rng = np.random.default_rng(cfg["seed"])
        self.known, self.radius = rocks(600, rng, cfg["size"])
        self.loose, _ = rocks(1200, rng, cfg["size"])
        self.held, self.held_radius = rocks(240, rng, cfg["size"])
        self.draw = torch.Generator().manual_seed(cfg["seed"])

    def batch(self, n, m):
        i = torch.randint(len(self.known), (n,), generator=self.draw)
        j = torch.randint(len(self.loose), (m,), generator=self.draw)
        both = torch.cat([self.known[i], self.loose[j]]).float().div_(255)
        return both, self.radius[i]


def jitter(unwrap, pictures, draw):
    n = len(pictures)
    turn = torch.rand(n, generator=draw) * 2 * math.pi
    shift = torch.randn(n, 2, generator=draw) * 0.03
    light = 1 + 0.15 * torch.randn(n, 1, 1, 1, generator=draw)
    return unwrap(pictures, turn, shift) * light


def nll(out, target):
    mean, log_var = out[:, 0], out[:, 1].clamp(-6, 4)
    return 0.5 * ((target - mean).square() * torch.exp(-log_var) + log_var).mean()


@torch.no_grad()
def error(net, unwrap, data, turns=4):
    pictures = data.held.float() / 255
    total = torch.zeros(len(pictures))
    for k in range(turns):
        turn = torch.full((len(pictures),), 2 * math.pi * k / turns)
        total += net(unwrap(pictures, turn, torch.zeros(len(pictures), 2)))[:, 0]
    return (total / turns * 10 + 15 - data.held_radius).abs().mean().item()


def main(cfg):
    torch.manual_seed(cfg["seed"])
    data, unwrap = Shore(cfg), Unwrap(cfg["rings"], cfg["angles"])
    student, teacher = regressor(cfg["width"]), regressor(cfg["width"])
    teacher.load_state_dict(student.state_dict())
    teacher.requires_grad_(False)
    ours, theirs = list(student.parameters()), list(teacher.parameters())
    optimizer = torch.optim.SGD(ours, lr=cfg["rate"], momentum=0.9, nesterov=True, weight_decay=1e-4, fused=True)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, cfg["steps"])
    seen, n = 0.0, cfg["batch"]
    for step in range(1, cfg["steps"] + 1):
        pictures, radius = data.batch(n, cfg["loose"])
        out = student(jitter(unwrap, pictures, data.draw))
        with torch.no_grad():
            advice = teacher(jitter(unwrap, pictures[n:], data.draw))[:, 0]
        ramp = min(1.0, step / 400)
        loss = nll(out[:n], (radius - 15) / 10) + ramp * F.smooth_l1_loss(out[n:, 0], advice)
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(ours, 5.0, foreach=True)
        optimizer.step()
        schedule.step()
        torch._foreach_lerp_(theirs, [p.detach() for p in ours], 1 - min(cfg["keep"], 1 - 1 / (step + 1)))
        seen += loss.item()
        if step % cfg["report"] == 0:
            print(f"step {step} loss {seen / cfg['report']:.4f} error {error(teacher, unwrap, data):.2f} pixels")
            torch.save(teacher.state_dict(), "limpet.pt")
            seen = 0.0


if __name__ == "__main__":
    main(CFG)
