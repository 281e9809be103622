"""Density contrast below the ground from a microgravity survey: an amortised Gaussian posterior
whose samples have to reproduce the measured anomaly."""
import argparse
import math
import os
import time

import numpy as np
import torch
from torch import nn
from torch.autograd import Function

GRID = (10, 10, 10)


class Attraction(Function):
    """Vertical attraction of every cell at every station: kernel (stations x cells) times density."""

    @staticmethod
    def forward(ctx, density, kernel):
        ctx.save_for_backward(density, kernel)
        return density.matmul(kernel.t())

    @staticmethod
    def backward(ctx, grad):
        density, kernel = ctx.saved_tensors
        grad_density = grad.matmul(kernel)
        grad_kernel = grad.t().matmul(density)
        return grad_density, grad_kernel


attraction = Attraction.apply


class Surveys:
    def __init__(self, folder, held=300):
        read = lambda name: torch.from_numpy(np.load(os.path.join(folder, name + ".npy")))
        self.kernel = read("kernel")
        self.anomaly, self.density = read("anomaly"), read("density")
        self.total = self.anomaly.shape[1]
        self.held = held

    def pick(self, columns):
        return self.anomaly[:, columns].t(), self.density[:, columns].t()

    def epoch(self, batch, generator):
        order = torch.randperm(self.total - self.held, generator=generator)
        for columns in order.split(batch)[: len(order) // batch]:
            yield self.pick(columns)

    def validation(self, batch=100):
        for columns in torch.arange(self.total - self.held, self.total).split(batch):
            yield self.pick(columns)


class Inverter(nn.Module):
    def __init__(self, stations, cells, width):
        super().__init__()
        self.trunk = nn.Sequential(
            nn.Linear(stations, width), nn.SiLU(), nn.LayerNorm(width),
            nn.Linear(width, width), nn.SiLU(), nn.LayerNorm(width))
        self.mean = nn.Linear(width, cells)
        self.log_std = nn.Linear(width, cells)
        nn.init.constant_(self.log_std.bias, -2.0)

    def forward(self, anomaly):
        h = self.trunk(anomaly)
        return self.mean(h), self.log_std(h).clamp(-6, 1)


def gaussian_kernel(size=3, sigma=0.8):
    x = torch.arange(size) - size // 2
    g = torch.exp(-0.5 * (x / sigma) ** 2)
    g = g[:, None, None] * g[None, :, None] * g[None, None, :]
    return (g / g.sum())[None, None]


def smooth(volume, window):
    return nn.functional.conv3d(volume, window, padding=window.shape[-1] // 2)


def structure_distance(a, b, window):
    a, b = a.reshape(-1, 1, *GRID), b.reshape(-1, 1, *GRID)
    mean_a, mean_b = smooth(a, window), smooth(b, window)
    var_a = smooth(a * a, window) - mean_a ** 2
    var_b = smooth(b * b, window) - mean_b ** 2
    cov = smooth(a * b, window) - mean_a * mean_b
    score = (2 * mean_a * mean_b + 1e-3) * (2 * cov + 1e-3) / ((mean_a ** 2 + mean_b ** 2 + 1e-3) * (var_a + var_b + 1e-3))
    return 1 - score.mean()


def posterior_samples(mean, log_std, draws):
    noise = torch.randn(draws, *mean.shape)
    return mean + log_std.exp() * noise


def objective(model, anomaly, density, kernel, window, args):
    mean, log_std = model(anomaly)
    nll = (0.5 * ((density - mean) * torch.exp(-log_std)) ** 2 + log_std).mean()
    draws = posterior_samples(mean, log_std, args.draws)
    misfit = (attraction(draws.flatten(0, 1), kernel).view(args.draws, *anomaly.shape) - anomaly).square().mean()
    structure = structure_distance(mean, density, window)
    return nll + args.misfit * misfit + args.structure * structure, nll, misfit


@torch.no_grad()
def validate(model, surveys):
    model.eval()
    error, fit, n = 0.0, 0.0, 0
    for anomaly, density in surveys.validation():
        mean, _ = model(anomaly)
        error += (mean - density).square().mean().item()
        fit += (mean @ surveys.kernel.t() - anomaly).square().mean().item()
        n += 1
    model.train()
    return math.sqrt(error / n), math.sqrt(fit / n)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--data", default=".")
    p.add_argument("--epochs", type=int, default=20)
    p.add_argument("--batch", type=int, default=64)
    p.add_argument("--width", type=int, default=384)
    p.add_argument("--draws", type=int, default=8, help="posterior samples for the misfit")
    p.add_argument("--misfit", type=float, default=0.3)
    p.add_argument("--structure", type=float, default=0.0, help="weight of the local structure term")
    p.add_argument("--lr", type=float, default=5e-4)
    p.add_argument("--log-every", type=int, default=25)
    args = p.parse_args()

    torch.manual_seed(5)
    surveys = Surveys(args.data)
    kernel, window = surveys.kernel, gaussian_kernel()
    model = Inverter(kernel.shape[0], kernel.shape[1], args.width)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, fused=True)
    plan = torch.optim.lr_scheduler.CosineAnnealingLR(opt, args.epochs)
    generator = torch.Generator().manual_seed(8)
    print(f"{surveys.total} surveys, {kernel.shape[0]} stations, {kernel.shape[1]} cells, "
          f"{sum(q.numel() for q in model.parameters()) / 1e6:.2f}M parameters")
    step = 0
    for epoch in range(args.epochs):
        tick = time.perf_counter()
        for anomaly, density in surveys.epoch(args.batch, generator):
            loss, nll, misfit = objective(model, anomaly, density, kernel, window, args)
            opt.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 10.0)
            opt.step()
            step += 1
            if step % args.log_every == 0:
                print(f"step {step} loss {loss.item():.4f} nll {nll.item():.4f} misfit {misfit.item():.4f}", flush=True)
        plan.step()
        rmse, fit = validate(model, surveys)
        print(f"epoch {epoch} rmse {rmse:.4f} anomaly fit {fit:.4f} {time.perf_counter() - tick:.1f}s", flush=True)
    torch.save(model.state_dict(), "inverter.pt")


if __name__ == "__main__":
    main()
