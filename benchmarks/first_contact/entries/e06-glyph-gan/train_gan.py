"""GAN on 16x16 stroke glyphs, hinge loss."""
import argparse
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def glyphs(n, seed=0):
    g = torch.Generator().manual_seed(seed)
    grid = torch.stack(torch.meshgrid(torch.arange(16.0), torch.arange(16.0), indexing="ij"), -1)
    ends = torch.rand(n, 2, 2, generator=g) * 11 + 2.5
    a, b = ends[:, 0, None, None], ends[:, 1, None, None]
    along = (((grid - a) * (b - a)).sum(-1) / ((b - a) ** 2).sum(-1).clamp_min(1e-3)).clamp(0, 1)
    dist = (grid - (a + along.unsqueeze(-1) * (b - a))).norm(dim=-1)
    return (torch.exp(-dist ** 2 / 1.5) * 2 - 1).unsqueeze(1)


def generator(nz, width):
    return nn.Sequential(
        nn.ConvTranspose2d(nz, width * 4, 4, bias=False), nn.BatchNorm2d(width * 4), nn.ReLU(True),
        nn.ConvTranspose2d(width * 4, width * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(width * 2), nn.ReLU(True),
        nn.ConvTranspose2d(width * 2, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
        nn.Conv2d(width, 1, 3, padding=1), nn.Tanh())


def discriminator(width):
    return nn.Sequential(
        nn.Conv2d(1, width, 4, 2, 1), nn.LeakyReLU(0.2, True),
        nn.Conv2d(width, width * 2, 4, 2, 1), nn.LeakyReLU(0.2, True),
        nn.Flatten(), nn.Linear(width * 2 * 16, 1))


def set_requires_grad(net, flag):
    for p in net.parameters():
        p.requires_grad_(flag)


def main(opt):
    torch.manual_seed(opt.seed)
    real_all = glyphs(opt.images)
    netG, netD = generator(opt.nz, opt.width), discriminator(opt.width)
    optG = torch.optim.Adam(netG.parameters(), lr=2e-4, betas=(0.5, 0.999), fused=True)
    optD = torch.optim.Adam(netD.parameters(), lr=2e-4, betas=(0.5, 0.999), fused=True)
    fixed = torch.randn(64, opt.nz, 1, 1)
    step, began = 0, time.time()
    for epoch in range(opt.epochs):
        order = torch.randperm(len(real_all))
        for idx in order.split(opt.batch):
            real = real_all[idx]
            noise = torch.randn(len(real), opt.nz, 1, 1)

            # discriminator
            set_requires_grad(netD, True)
            fake = netG(noise)
            optD.zero_grad()
            lossD = F.relu(1 - netD(real)).mean() + F.relu(1 + netD(fake)).mean()
            lossD.backward(retain_graph=True)
            optD.step()

            # generator
            set_requires_grad(netD, False)
            optG.zero_grad()
            lossG = -netD(fake).mean()
            lossG.backward()
            optG.step()

            step += 1
            if step % opt.log_every == 0:
                print(f"[{epoch}/{opt.epochs}] step {step} lossD {lossD.item():.3f} lossG {lossG.item():.3f} "
                      f"{(time.time() - began) / step * 1000:.1f} ms/step")
        with torch.no_grad():
            sample = netG(fixed)
        ink = (sample > 0).float().mean().item()
        print(f"epoch {epoch}: mean ink {ink:.3f} (real {(real_all > 0).float().mean().item():.3f})")


if __name__ == "__main__":
    p = argparse.ArgumentParser()
    p.add_argument("--images", type=int, default=2048)
    p.add_argument("--batch", type=int, default=32)
    p.add_argument("--epochs", type=int, default=40)
    p.add_argument("--nz", type=int, default=48)
    p.add_argument("--width", type=int, default=16)
    p.add_argument("--log-every", type=int, default=100)
    p.add_argument("--seed", type=int, default=0)
    main(p.parse_args())
