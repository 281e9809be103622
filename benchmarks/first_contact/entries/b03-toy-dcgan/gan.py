#!/usr/bin/env python
# DCGAN on procedurally drawn 32x32 shapes
import argparse, os, time
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, Dataset


class Shapes(Dataset):
    """filled circles and boxes, in [-1, 1]"""

    def __init__(self, n=2048, size=32, seed=0):
        rng = np.random.RandomState(seed)
        yy, xx = np.mgrid[:size, :size]
        imgs = np.full((n, 1, size, size), -1.0, np.float32)
        for i in range(n):
            cx, cy = rng.randint(8, size - 8, 2)
            r = rng.randint(3, 8)
            if rng.rand() < 0.5:
                m = (xx - cx) ** 2 + (yy - cy) ** 2 <= r * r
            else:
                m = (abs(xx - cx) <= r) & (abs(yy - cy) <= r)
            imgs[i, 0][m] = 1.0
        self.imgs = torch.from_numpy(imgs)

    def __len__(self):
        return len(self.imgs)

    def __getitem__(self, i):
        return self.imgs[i]


def weights_init(m):
    name = m.__class__.__name__
    if "Conv" in name:
        nn.init.normal_(m.weight.data, 0.0, 0.02)
    elif "BatchNorm" in name:
        nn.init.normal_(m.weight.data, 1.0, 0.02)
        nn.init.constant_(m.bias.data, 0)


class Generator(nn.Module):
    def __init__(self, nz=64, ngf=80):
        super().__init__()
        self.main = nn.Sequential(
            nn.ConvTranspose2d(nz, ngf * 4, 4, 1, 0, bias=False), nn.BatchNorm2d(ngf * 4), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 4, ngf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf * 2), nn.ReLU(True),
            nn.ConvTranspose2d(ngf * 2, ngf, 4, 2, 1, bias=False), nn.BatchNorm2d(ngf), nn.ReLU(True),
            nn.ConvTranspose2d(ngf, 1, 4, 2, 1, bias=False), nn.Tanh())

    def forward(self, z):
        return self.main(z)


class Discriminator(nn.Module):
    def __init__(self, ndf=16):
        super().__init__()
        self.main = nn.Sequential(
            nn.Conv2d(1, ndf, 4, 2, 1, bias=False), nn.LeakyReLU(0.2, True),
            nn.Conv2d(ndf, ndf * 2, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 2), nn.LeakyReLU(0.2, True),
            nn.Conv2d(ndf * 2, ndf * 4, 4, 2, 1, bias=False), nn.BatchNorm2d(ndf * 4), nn.LeakyReLU(0.2, True),
            nn.Conv2d(ndf * 4, 1, 4, 1, 0, bias=False))

    def forward(self, x):
        return self.main(x).view(-1)


def train(opt):
    torch.manual_seed(999)
    loader = DataLoader(Shapes(), batch_size=opt.batch, shuffle=True, drop_last=True)
    G, D = Generator(opt.nz), Discriminator()
    G.apply(weights_init)
    D.apply(weights_init)
    bce = nn.BCEWithLogitsLoss()
    optD = torch.optim.Adam(D.parameters(), lr=2e-4, betas=(0.5, 0.999))
    optG = torch.optim.Adam(G.parameters(), lr=2e-4, betas=(0.5, 0.999))
    fixed = torch.randn(16, opt.nz, 1, 1)
    os.makedirs(opt.out, exist_ok=True)
    it = 0
    for epoch in range(opt.epochs):
        t0 = time.time()
        for real in loader:
            b = real.size(0)
            ones, zeros = torch.full((b,), 0.9), torch.zeros(b)

            # (1) update D
            D.zero_grad()
            errD_real = bce(D(real), ones)
            noise = torch.randn(b, opt.nz, 1, 1)
            fake = G(noise)
            errD_fake = bce(D(fake), zeros)
            errD = errD_real + errD_fake
            errD.backward(retain_graph=True)
            optD.step()

            # (2) update G
            G.zero_grad()
            gen = G(noise)
            errG = bce(D(gen), torch.ones(b))
            errG.backward()
            optG.step()

            if it % 16 == 0:
                print(f"[{epoch}/{opt.epochs}] it {it} loss_D {errD.item():.3f} loss_G {errG.item():.3f}")
            it += 1
        with torch.no_grad():
            np.save(f"{opt.out}/samples_{epoch:02d}.npy", G(fixed).numpy())
        print(f"epoch {epoch} took {time.time() - t0:.1f}s")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=6)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--nz", type=int, default=64)
    ap.add_argument("--out", default="samples")
    train(ap.parse_args())
