"""Contractive autoencoder for near-infrared spectra of pressed tea cakes.

The code of a cake must not depend on how the probe was held, so the encoder's slope along the spectrum is kept
small; storage years and caffeine are read off the code by a small head.
"""
import argparse
import math
import time

import numpy as np
import torch
import torch.nn as nn

BANDS = 420


def spectra(count, rng):
    nm = np.linspace(1000, 2500, BANDS)
    centres = np.array([1190, 1450, 1510, 1690, 1780, 1940, 2060, 2180, 2310, 2350])
    widths = np.array([30, 45, 40, 28, 30, 50, 40, 45, 25, 22])
    shapes = np.exp(-0.5 * ((nm - centres[:, None]) / widths[:, None]) ** 2)
    years = rng.uniform(0, 30, count)
    caffeine = rng.normal(3.1, 0.5, count)
    amounts = rng.gamma(6, 0.04, (count, len(centres)))
    amounts[:, 5] -= 0.004 * years
    amounts[:, 3] += 0.05 * caffeine
    amounts[:, 6] += 0.005 * years
    scatter = rng.normal(1, 0.08, (count, 1))
    tilt = rng.normal(0, 0.05, (count, 1)) * (nm - 1750) / 750
    absorbance = scatter * (amounts @ shapes) + tilt + rng.normal(0, 0.004, (count, BANDS))
    absorbance = (absorbance - absorbance.mean(1, keepdims=True)) / absorbance.std(1, keepdims=True)
    targets = np.stack([(years - 15) / 9, (caffeine - 3.1) / 0.5], 1)
    return torch.from_numpy(absorbance).float(), torch.from_numpy(targets).float()


class Cake(nn.Module):
    def __init__(self, hidden=160, code=14):
        super().__init__()
        self.encoder = nn.Sequential(nn.Linear(BANDS, hidden), nn.Tanh(), nn.Linear(hidden, code))
        self.decoder = nn.Sequential(nn.Linear(code, hidden), nn.Tanh(), nn.Linear(hidden, hidden), nn.Tanh(),
                                     nn.Linear(hidden, BANDS))
        self.head = nn.Sequential(nn.Linear(code, 48), nn.Tanh(), nn.Linear(48, 2))


def steepness(code, spectrum):
    """Squared Frobenius norm of d code / d spectrum, one value a cake."""
    total = torch.zeros(len(spectrum))
    for k in range(code.shape[1]):
        slope, = torch.autograd.grad(code[:, k].sum(), spectrum, create_graph=True)
        total = total + slope.square().sum(1)
    return total


def train_step(model, optimizer, spectrum, target, args):
    spectrum = spectrum + args.noise * torch.randn_like(spectrum)
    spectrum.requires_grad_(True)
    code = model.encoder(spectrum)
    rebuilt = model.decoder(code)
    fit = (rebuilt - spectrum.detach()).square().mean()
    read = nn.functional.huber_loss(model.head(code), target)
    loss = fit + args.supervise * read + args.contract * steepness(code, spectrum).mean()
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_value_(model.parameters(), 1.0)
    optimizer.step()
    return loss.detach(), read.detach()


@torch.no_grad()
def score(model, spectrum, target):
    error = model.head(model.encoder(spectrum)) - target
    years, caffeine = error.square().mean(0).sqrt().tolist()
    return 9 * years, 0.5 * caffeine


def main(args):
    torch.manual_seed(args.seed)
    spectrum, target = spectra(args.cakes, np.random.default_rng(args.seed))
    test = slice(args.cakes - 600, None)
    cut = args.cakes - 600
    model = Cake()
    optimizer = torch.optim.Adamax(model.parameters(), lr=args.lr)
    scheduler = torch.optim.lr_scheduler.ExponentialLR(optimizer, gamma=math.exp(math.log(0.1) / args.epochs))
    for epoch in range(args.epochs):
        clock, sums, count = time.time(), torch.zeros(2), 0
        for rows in torch.randperm(cut).split(args.batch):
            loss, read = train_step(model, optimizer, spectrum[rows], target[rows], args)
            sums += torch.stack([loss, read])
            count += 1
        scheduler.step()
        loss, read = (sums / count).tolist()
        if epoch % 5 == 4 or epoch == args.epochs - 1:
            years, caffeine = score(model, spectrum[test], target[test])
            print(f"{epoch + 1:3d}: loss {loss:.4f} read {read:.4f} | RMSE {years:.2f} years, {caffeine:.3f} % caffeine"
                  f" | {time.time() - clock:.1f} s", flush=True)
    torch.save(model.state_dict(), args.save)


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--cakes", type=int, default=9600)
    p.add_argument("--epochs", type=int, default=70)
    p.add_argument("--batch", type=int, default=256)
    p.add_argument("--lr", type=float, default=3e-3)
    p.add_argument("--noise", type=float, default=0.02)
    p.add_argument("--contract", type=float, default=1e-3)
    p.add_argument("--supervise", type=float, default=2.0)
    p.add_argument("--seed", type=int, default=12)
    p.add_argument("--save", default="cake.pt")
    main(p.parse_args())
