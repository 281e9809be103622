"""WGAN-GP on a ring of Gaussians."""
import argparse, math, time
import torch
from torch import nn, autograd, optim

parser = argparse.ArgumentParser()
parser.add_argument("--iters", type=int, default=700)
parser.add_argument("--batch", type=int, default=256)
parser.add_argument("--dim", type=int, default=192)
parser.add_argument("--critic-iters", type=int, default=3)
parser.add_argument("--lam", type=float, default=0.1)
parser.add_argument("--modes", type=int, default=8)
parser.add_argument("--seed", type=int, default=1)
args = parser.parse_args()
torch.manual_seed(args.seed)


class Generator(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(2, dim), nn.ReLU(True), nn.Linear(dim, dim), nn.ReLU(True), nn.Linear(dim, dim), nn.ReLU(True), nn.Linear(dim, 2))

    def forward(self, noise, real):
        return self.main(noise) + noise


class Critic(nn.Module):
    def __init__(self, dim):
        super().__init__()
        self.main = nn.Sequential(nn.Linear(2, dim), nn.ReLU(True), nn.Linear(dim, dim), nn.ReLU(True), nn.Linear(dim, dim), nn.ReLU(True), nn.Linear(dim, 1))

    def forward(self, x):
        return self.main(x).view(-1)


def ring(batch, modes):
    while True:
        k = torch.randint(0, modes, (batch,)) * (2 * math.pi / modes)
        centers = torch.stack([k.cos(), k.sin()], 1) * 2
        yield (centers + 0.02 * torch.randn(batch, 2)) / math.sqrt(2)


def gradient_penalty(netD, real, fake):
    alpha = torch.rand(real.size(0), 1)
    inter = torch.lerp(fake, real, alpha).requires_grad_(True)
    out = netD(inter)
    grads = autograd.grad(out.sum(), inter, create_graph=True)[0]
    return ((grads.norm(2, dim=1) - 1) ** 2).mean()


def mode_coverage(netG, n=1000):
    with torch.no_grad():
        z = torch.randn(n, 2)
        x = netG(z, None) * math.sqrt(2)
        ang = torch.atan2(x[:, 1], x[:, 0]).div(2 * math.pi / args.modes).round().long() % args.modes
        return (torch.bincount(ang, minlength=args.modes) > n // (4 * args.modes)).sum().item()


netG, netD = Generator(args.dim), Critic(args.dim)
optD = optim.Adam(netD.parameters(), lr=1e-4, betas=(0.5, 0.9), fused=True)
optG = optim.Adam(netG.parameters(), lr=1e-4, betas=(0.5, 0.9), fused=True)
data = ring(args.batch, args.modes)
t0 = time.time()

for it in range(args.iters):
    for p in netD.parameters():
        p.requires_grad_(True)
    for _ in range(args.critic_iters):
        real = next(data)
        with torch.no_grad():
            fake = netG(torch.randn(args.batch, 2), real)
        optD.zero_grad()
        d_real, d_fake = netD(torch.cat([real, fake])).chunk(2)
        gp = gradient_penalty(netD, real, fake)
        loss_d = d_fake.mean() - d_real.mean() + args.lam * gp
        loss_d.backward()
        optD.step()

    for p in netD.parameters():
        p.requires_grad_(False)
    optG.zero_grad()
    fake = netG(torch.randn(args.batch, 2), real)
    loss_g = -netD(fake).mean()
    loss_g.backward()
    optG.step()

    if it % 50 == 0:
        print(f"iter {it} w-dist {(d_real.mean() - d_fake.mean()).item():.4f} gp {gp.item():.4f} modes {mode_coverage(netG)}/{args.modes} {time.time() - t0:.1f}s")
