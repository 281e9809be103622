"""Physics-informed network for the 1-d heat equation u_t = k u_xx, u(x,0)=sin(pi x)."""
import argparse
import json
import math
import time

import torch
import torch.nn as nn


class SineNet(nn.Module):
    def __init__(self, width=64, depth=4):
        super().__init__()
        dims = [2] + [width] * depth
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(dims, dims[1:]))
        self.out = nn.Linear(width, 1)

    def forward(self, x, t):
        h = torch.cat([x, t], dim=1)
        for layer in self.layers:
            h = torch.tanh(layer(h))
        return self.out(h)


def d(y, x):
    return torch.autograd.grad(y, x, grad_outputs=torch.ones_like(y), create_graph=True)[0]


class HeatProblem:
    def __init__(self, kappa, n_col, n_bc, seed=0):
        self.kappa, self.n_col, self.n_bc = kappa, n_col, n_bc
        self.g = torch.Generator().manual_seed(seed)

    def collocation(self):
        pts = torch.rand(self.n_col, 2, generator=self.g)
        x = pts[:, :1].clone().requires_grad_()
        t = pts[:, 1:].clone().requires_grad_()
        return x, t

    def residual(self, net, x, t):
        u = net(x, t)
        u_x, u_t = torch.autograd.grad(u.sum(), (x, t), create_graph=True)
        u_xx = d(u_x, x)
        return u_t - self.kappa * u_xx

    def boundary(self):
        n = self.n_bc
        s = torch.rand(n, 1, generator=self.g)
        x = torch.cat([s, torch.zeros(n, 1), torch.ones(n, 1)])
        t = torch.cat([torch.zeros(n, 1), s, s])
        u = torch.cat([torch.sin(math.pi * s), torch.zeros(2 * n, 1)])
        return x, t, u

    def exact(self, x, t):
        return torch.exp(-self.kappa * math.pi**2 * t) * torch.sin(math.pi * x)


@torch.no_grad()
def rel_l2(problem, net, n=50):
    s = torch.linspace(0, 1, n)
    x, t = torch.meshgrid(s, s, indexing="ij")
    x, t = x.reshape(-1, 1), t.reshape(-1, 1)
    ref = problem.exact(x, t)
    return ((net(x, t) - ref).norm() / ref.norm()).item()


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=1500)
    ap.add_argument("--collocation", type=int, default=1500)
    ap.add_argument("--boundary", type=int, default=100)
    ap.add_argument("--kappa", type=float, default=0.1)
    ap.add_argument("--lam", type=float, default=10.0)
    args = ap.parse_args()

    torch.manual_seed(0)
    net = SineNet()
    problem = HeatProblem(args.kappa, args.collocation, args.boundary)
    opt = torch.optim.Adam(net.parameters(), lr=2e-3)
    sched = torch.optim.lr_scheduler.ExponentialLR(opt, 0.9985)
    log, t0 = [], time.time()
    for it in range(args.iters):
        x, t = problem.collocation()
        xb, tb, ub = problem.boundary()
        res = problem.residual(net, x, t).pow(2).mean()
        bc = (net(xb, tb) - ub).pow(2).mean()
        loss = res + args.lam * bc
        opt.zero_grad()
        loss.backward()
        opt.step()
        sched.step()
        if it % 100 == 0:
            err = rel_l2(problem, net)
            log.append(dict(it=it, res=res.item(), bc=bc.item(), err=err))
            print(f"{it:5d} res {res.item():.2e} bc {bc.item():.2e} rel-l2 {err:.3f} {time.time() - t0:.1f}s")
    with open("heat_log.json", "w") as f:
        json.dump(log, f)


if __name__ == "__main__":
    main()
