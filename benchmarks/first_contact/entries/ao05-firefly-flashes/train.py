"""Firefly swarms seen by a row of photometers: take the noise off and name the species by its flash code."""
import time

import numpy as np
import torch
import torch.nn.functional as F
from torch.optim.swa_utils import AveragedModel, update_bn

from model import FlashNet

SPECIES = 7
ROWS, FRAMES = 32, 96
CODES = {  # frames between flashes, flashes in a phrase, frames between phrases, length of a flash
    0: (5, 1, 40, 3), 1: (6, 2, 44, 2), 2: (4, 5, 60, 1), 3: (9, 3, 50, 3),
    4: (3, 8, 48, 1), 5: (12, 2, 36, 5), 6: (7, 4, 64, 2),
}
cfg = dict(train=960, held=320, batch=24, epochs=28, lr=3e-3, average_from=4, check_every=5, dark=0.25, gain=0.15, seed=19)


def swarms(count, rng):
    species = rng.integers(0, SPECIES, count)
    rasters = np.zeros((count, ROWS, FRAMES + 8), dtype=np.float32)
    spread = np.exp(-0.5 * (np.arange(-3, 4) / 1.2) ** 2).astype(np.float32)
    for raster, kind in zip(rasters, species):
        gap, flashes, pause, length = CODES[int(kind)]
        for _ in range(rng.integers(3, 9)):
            at, row = int(rng.integers(-pause, pause)), int(rng.integers(3, ROWS - 3))
            stretch, bright = rng.uniform(0.85, 1.15), rng.uniform(0.4, 1.2)
            while at < FRAMES:
                for flash in range(flashes):
                    begin = int(at + flash * gap * stretch)
                    if 0 <= begin < FRAMES:
                        raster[row - 3:row + 4, begin:begin + length] += bright * spread[:, None]
                at += int(pause * stretch)
    return torch.from_numpy(rasters[:, None, :, :FRAMES].copy()), torch.from_numpy(species)


class Night:
    """What the photometers make of a clean raster: each pixel's gain wanders, and the dark current is noisy."""

    def __init__(self, dark, gain, seed):
        self.dark, self.gain = dark, gain
        self.rng = np.random.RandomState(seed)

    def __call__(self, clean):
        shape = tuple(clean.shape)
        gain = self.rng.normal(1.0, self.gain, size=shape)
        dark = self.rng.normal(0.0, self.dark, size=shape)
        return (clean * torch.from_numpy(gain) + torch.from_numpy(dark)).float()


def batches(rasters, species, size, night, shuffle=True):
    order = torch.randperm(len(rasters)) if shuffle else torch.arange(len(rasters))
    for rows in order.split(size):
        clean = rasters[rows]
        noisy = night(clean).contiguous(memory_format=torch.channels_last)
        yield noisy, clean, species[rows]


@torch.no_grad()
def check(model, held, night):
    model.eval()
    error, right = 0.0, 0
    for noisy, clean, kind in batches(*held, 80, night, shuffle=False):
        guess, logits = model(noisy)
        error += F.mse_loss(guess, clean).item() * len(kind)
        right += (logits.argmax(1) == kind).sum().item()
    model.train()
    return error / len(held[1]), right / len(held[1])


def main():
    torch.manual_seed(cfg["seed"])
    rng = np.random.default_rng(cfg["seed"])
    train, held = swarms(cfg["train"], rng), swarms(cfg["held"], rng)
    night = Night(cfg["dark"], cfg["gain"], cfg["seed"])

    model = FlashNet(SPECIES).to(memory_format=torch.channels_last)
    averaged = AveragedModel(model)
    optimizer = torch.optim.NAdam(model.parameters(), lr=cfg["lr"], foreach=True)
    schedule = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.95)

    for epoch in range(1, cfg["epochs"] + 1):
        start, total = time.time(), torch.zeros(())
        for noisy, clean, kind in batches(*train, cfg["batch"], night):
            guess, logits = model(noisy)
            loss = 10 * F.mse_loss(guess, clean) + F.cross_entropy(logits, kind)
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            total += loss.detach()
        schedule.step()
        line = f"{epoch:3d} loss {total.item() / (cfg['train'] // cfg['batch']):.4f}"
        if epoch >= cfg["average_from"]:
            averaged.update_parameters(model)
            update_bn((noisy for noisy, _, _ in batches(*train, cfg["batch"], night)), averaged)
        if epoch % cfg["check_every"] == 0:
            error, right = check(averaged if epoch >= cfg["average_from"] else model, held, night)
            line += f" held mse {error:.5f} species {right:.1%}"
        print(line, f"{time.time() - start:.1f}s", flush=True)
    torch.save(averaged.module.state_dict(), "fireflies.pt")


if __name__ == "__main__":
    main()
