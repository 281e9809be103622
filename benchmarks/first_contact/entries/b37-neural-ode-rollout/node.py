"""Learn the vector field of a Lotka-Volterra system from noisy trajectories (unrolled through time)."""
import argparse
import csv
import time

import torch
import torch.nn as nn


def lotka(z, a=1.2, b=0.6, c=0.8, d=0.3):
    x, y = z[..., 0], z[..., 1]
    return torch.stack([a * x - b * x * y, -c * y + d * x * y], -1)


def rk4(f, z, dt):
    k1 = f(z)
    k2 = f(z + 0.5 * dt * k1)
    k3 = f(z + 0.5 * dt * k2)
    k4 = f(z + dt * k3)
    return z + dt / 6 * (k1 + 2 * k2 + 2 * k3 + k4)


@torch.no_grad()
def simulate(n, steps, dt, noise, seed):
    g = torch.Generator().manual_seed(seed)
    z = 0.5 + 3 * torch.rand(n, 2, generator=g)
    out = [z]
    for _ in range(steps - 1):
        z = rk4(lotka, z, dt)
        out.append(z)
    traj = torch.stack(out, 1)
    return traj + noise * torch.randn(traj.shape, generator=g)


class Field(nn.Module):
    def __init__(self, h=32):
        super().__init__()
        self.net = nn.Sequential(nn.Linear(2, h), nn.Tanh(), nn.Linear(h, h), nn.Tanh(), nn.Linear(h, 2))

    def forward(self, z):
        return self.net(z)


def odeint(field, z0, steps, dt):
    """rollout, returns [batch, steps, 2]"""
    traj, z = [z0], z0
    for _ in range(steps - 1):
        z = z + dt * field(z)
        traj.append(z)
    return torch.stack(traj, dim=1)


def trajectory_loss(pred, target):
    loss = 0.0
    for k in range(pred.size(1)):
        loss = loss + (pred[:, k] - target[:, k]).abs().mean()
    return loss / pred.size(1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iters", type=int, default=350)
    ap.add_argument("--batch", type=int, default=512)
    ap.add_argument("--window", type=int, default=100)
    ap.add_argument("--dt", type=float, default=0.02)
    ap.add_argument("--lr", type=float, default=3e-3)
    ap.add_argument("--log", default="node_log.csv")
    args = ap.parse_args()
    torch.manual_seed(0)
    data = simulate(128, 400, args.dt, 0.01, 0)
    test = simulate(64, args.window, args.dt, 0.0, 1)
    field = Field()
    opt = torch.optim.Adam(field.parameters(), lr=args.lr)
    sched = torch.optim.lr_scheduler.StepLR(opt, 150, 0.5)
    rows, t0 = [], time.time()
    offs = torch.arange(args.window)
    for it in range(args.iters):
        i = torch.randint(0, len(data), (args.batch, 1))
        s = torch.randint(0, data.size(1) - args.window, (args.batch, 1))
        target = data[i, s + offs]
        pred = odeint(field, target[:, 0], args.window, args.dt)
        loss = trajectory_loss(pred, target)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(field.parameters(), 1.0)
        opt.step()
        sched.step()
        if it % 30 == 0:
            with torch.no_grad():
                err = (odeint(field, test[:, 0], args.window, args.dt) - test).abs().mean().item()
            rows.append([it, loss.item(), err])
            print(f"{it:4d} loss {loss.item():.4f} test {err:.4f} {time.time() - t0:.1f}s")
    with open(args.log, "w", newline="") as f:
        csv.writer(f).writerows([["iter", "loss", "test"]] + rows)


if __name__ == "__main__":
    main()
