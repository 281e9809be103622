import argparse
import copy
import math
import os

import torch
import torch.nn as nn
import torch.nn.functional as F


def two_moons_images(n, res=16):
    """Crescents of random angle drawn on a small grid."""
    g = torch.linspace(-1, 1, res)
    yy, xx = torch.meshgrid(g, g, indexing="ij")
    ang = torch.rand(n, 1, 1) * 2 * math.pi
    ox, oy = 0.35 * torch.cos(ang), 0.35 * torch.sin(ang)
    disc = ((xx**2 + yy**2) < 0.6).float()
    bite = (((xx - ox) ** 2 + (yy - oy) ** 2) < 0.3).float()
    return (disc * (1 - bite)).unsqueeze(1) * 2 - 1


class TimeEmbedding(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.register_buffer("freq", torch.exp(-math.log(10000) * torch.arange(dim // 2) / (dim // 2)))
        self.mlp = nn.Sequential(nn.Linear(dim, dim), nn.SiLU(), nn.Linear(dim, dim))

    def forward(self, t):
        a = t[:, None].float() * self.freq
        return self.mlp(torch.cat([a.sin(), a.cos()], dim=1))


class ResBlock(nn.Module):
    def __init__(self, dim, emb):
        super().__init__()
        self.norm = nn.LayerNorm(dim)
        self.fc1, self.fc2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)
        self.emb = nn.Linear(emb, 2 * dim)

    def forward(self, x, e):
        return x + self.fc2(F.silu(self.fc1(self.norm(x)) + self.emb(e)))


class Denoiser(nn.Module):
    """The images are tiny, so a residual MLP over all pixels does the job."""

    def __init__(self, pixels=256, dim=192, depth=4, emb=64):
        super().__init__()
        self.time = TimeEmbedding(emb)
        self.inp, self.out = nn.Linear(pixels, dim), nn.Linear(dim, pixels)
        self.blocks = nn.ModuleList(ResBlock(dim, emb) for _ in range(depth))

    def forward(self, x, t):
        e = self.time(t)
        h = self.inp(x.flatten(1))
        for block in self.blocks:
            h = block(h, e)
        return self.out(F.silu(h)).view_as(x)


class Diffusion:
    def __init__(self, steps=200):
        self.steps = steps
        self.beta = torch.linspace(1e-4, 0.03, steps)
        self.alpha = 1 - self.beta
        self.abar = self.alpha.cumprod(0)

    def loss(self, model, x):
        t = torch.randint(0, self.steps, (len(x),))
        noise = torch.randn_like(x)
        ab = self.abar[t][:, None, None, None]
        return F.mse_loss(model(ab.sqrt() * x + (1 - ab).sqrt() * noise, t), noise)

    @torch.no_grad()
    def sample(self, model, n, res=16):
        x = torch.randn(n, 1, res, res)
        for i in reversed(range(self.steps)):
            t = torch.full((n,), i)
            eps = model(x, t)
            x = (x - self.beta[i] / (1 - self.abar[i]).sqrt() * eps) / self.alpha[i].sqrt()
            if i > 0:
                x = x + self.beta[i].sqrt() * torch.randn_like(x)
        return x.clamp(-1, 1)


@torch.no_grad()
def update_ema(ema, model, decay):
    for pe, p in zip(ema.parameters(), model.parameters()):
        pe.lerp_(p, 1 - decay)


def main(args):
    torch.manual_seed(args.seed)
    data = two_moons_images(4096)
    model, diff = Denoiser(), Diffusion(args.diffusion_steps)
    ema = copy.deepcopy(model).eval().requires_grad_(False)
    opt = torch.optim.AdamW(model.parameters(), lr=args.lr)
    os.makedirs(args.out, exist_ok=True)
    avg = None
    for step in range(1, args.steps + 1):
        x = data[torch.randint(0, len(data), (args.batch,))]
        loss = diff.loss(model, x)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        update_ema(ema, model, 0.995)
        avg = loss.item() if avg is None else 0.98 * avg + 0.02 * loss.item()
        if step % args.sample_every == 0:
            imgs = diff.sample(ema, 16)
            torch.save(imgs, f"{args.out}/sample_{step:05d}.pt")
            print(f"step {step} loss {avg:.4f} ink {float((imgs > 0).float().mean()):.3f}")
    torch.save({"ema": ema.state_dict(), "args": vars(args)}, f"{args.out}/last.pt")


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=1000)
    ap.add_argument("--batch", type=int, default=128)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--diffusion-steps", type=int, default=100)
    ap.add_argument("--sample-every", type=int, default=25)
    ap.add_argument("--out", default="ddpm_out")
    ap.add_argument("--seed", type=int, default=0)
    main(ap.parse_args())
