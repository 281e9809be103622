"""Denoising score matching on a 2-d spiral, annealed Langevin sampling after each stage."""
import argparse
import time

import numpy as np
import torch
import torch.nn as nn


def spiral(n):
    t = torch.rand(n).sqrt() * 3 * torch.pi
    p = torch.stack([t * t.cos(), t * t.sin()], 1) / (3 * torch.pi)
    return p + 0.01 * torch.randn(n, 2)


class ScoreNet(nn.Module):
    def __init__(self, h=192, emb=32):
        super().__init__()
        self.register_buffer("w", torch.randn(emb) * 4)
        self.t = nn.Sequential(nn.Linear(2 * emb, h), nn.SiLU())
        self.inp = nn.Linear(2, h)
        self.mid = nn.ModuleList(nn.Linear(h, h) for _ in range(3))
        self.out = nn.Linear(h, 2)

    def forward(self, x, sigma):
        a = sigma.log()[:, None] * self.w
        e = self.t(torch.cat([a.sin(), a.cos()], 1))
        h = nn.functional.silu(self.inp(x))
        for layer in self.mid:
            h = h + nn.functional.silu(layer(h + e))
        return self.out(h) / sigma[:, None]


class EMA:
    def __init__(self, model, decay):
        self.decay = decay
        self.src = list(model.parameters())
        self.avg = [p.detach().clone() for p in self.src]

    @torch.no_grad()
    def update(self):
        torch._foreach_lerp_(self.avg, self.src, 1 - self.decay)

    @torch.no_grad()
    def swap(self):
        for a, p in zip(self.avg, self.src):
            tmp = p.clone()
            p.copy_(a)
            a.copy_(tmp)


@torch.no_grad()
def langevin(net, n, sigmas, steps=4, eps=2e-5):
    x = torch.randn(n, 2) * sigmas[0]
    for s in sigmas:
        step = eps * (s / sigmas[-1]) ** 2
        sb = s.expand(n)
        for _ in range(steps):
            x = x + 0.5 * step * net(x, sb) + step.sqrt() * torch.randn_like(x)
    return x


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--stages", type=int, default=6)
    ap.add_argument("--iters", type=int, default=450)
    ap.add_argument("--batch", type=int, default=512)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--levels", type=int, default=12)
    a = ap.parse_args()
    torch.manual_seed(0)
    net = ScoreNet()
    ema = EMA(net, 0.995)
    sigmas = torch.logspace(0, -2, a.levels)
    opt = torch.optim.AdamW(net.parameters(), lr=a.lr, fused=True)
    for stage in range(a.stages):
        t0, avg = time.time(), None
        for it in range(a.iters):
            x = spiral(a.batch)
            s = sigmas[torch.randint(0, a.levels, (a.batch,))]
            eps = torch.randn_like(x)
            score = net(x + s[:, None] * eps, s)
            loss = (score * s[:, None] + eps).square().sum(1).mean()
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            ema.update()
            if it % 50 == 0:
                v = loss.item()
                avg = v if avg is None else 0.8 * avg + 0.2 * v
                print(f"stage {stage} it {it} loss {avg:.4f}")
        ema.swap()
        pts = langevin(net, 400, sigmas)
        ema.swap()
        dist = torch.cdist(pts, spiral(2000)).amin(1).mean().item()
        np.save(f"spiral_{stage}.npy", pts.numpy())
        print(f"stage {stage} {time.time() - t0:.1f}s mean distance to the spiral {dist:.4f}")


if __name__ == "__main__":
    main()
