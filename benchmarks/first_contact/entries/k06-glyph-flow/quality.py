import torch
import torch.nn as nn


class RandomFeatures(nn.Module):
    """fixed random convolutional features: a cheap stand-in for Inception on tiny images"""

    def __init__(self, dim=128, seed=17):
        super().__init__()
        gen = torch.Generator().manual_seed(seed)
        self.c1, self.c2 = nn.Conv2d(1, 24, 3, 2, 1), nn.Conv2d(24, dim, 3, 2, 1)
        for p in self.parameters():
            p.requires_grad_(False).copy_(torch.randn(p.shape, generator=gen) / max(p[0].numel(), 1) ** 0.5)

    def forward(self, x):
        return torch.relu(self.c2(torch.relu(self.c1(x)))).mean((2, 3))


def moments(net, images, chunk=500):
    f = torch.cat([net(c) for c in images.split(chunk)]).double()
    return f.mean(0), torch.cov(f.T)


def sqrtm(m):
    w, v = torch.linalg.eigh(m)
    return (v * w.clamp(min=0).sqrt()) @ v.T


class FrechetDistance:
    def __init__(self, real):
        self.real = real
        self.net = RandomFeatures()

    @torch.no_grad()
    def __call__(self, fake):
        mu_r, cov_r = moments(self.net, self.real)
        mu_f, cov_f = moments(self.net, fake)
        root = sqrtm(cov_r)
        cross = sqrtm(root @ cov_f @ root)
        return ((mu_r - mu_f).pow(2).sum() + cov_r.trace() + cov_f.trace() - 2 * cross.trace()).item()
