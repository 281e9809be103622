"""Physics-informed network for the viscous Burgers equation."""
import argparse
import math
import time

import torch
from torch import nn

from reference import solve


class Field(nn.Module):
    def __init__(self, width=128, depth=5):
        super().__init__()
        sizes = [2] + [width] * depth
        self.hidden = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        self.out = nn.Linear(width, 1)
        for layer in self.hidden:
            nn.init.xavier_normal_(layer.weight)

    def forward(self, xt):
        h = xt
        for layer in self.hidden:
            h = torch.tanh(layer(h))
        return self.out(h).squeeze(-1)


def residual(field, xt, nu):
    """u_t + u u_x - nu u_xx at the points xt = (x, t)."""
    xt.requires_grad_(True)
    u = field(xt)
    first, = torch.autograd.grad(u.sum(), xt, create_graph=True)
    second, = torch.autograd.grad(first[:, 0].sum(), xt, create_graph=True)
    return first[:, 1] + u * first[:, 0] - nu * second[:, 0]


def edge_points(n):
    """Points on the initial line and both walls, with their values."""
    x = torch.rand(n) * 2 - 1
    start = torch.stack([x, torch.zeros(n)], dim=1)
    side = (torch.rand(n) < 0.5).float() * 2 - 1
    walls = torch.stack([side, torch.rand(n)], dim=1)
    return torch.cat([start, walls]), torch.cat([-torch.sin(math.pi * x), torch.zeros(n)])


def interior_points(n):
    return torch.rand(n, 2) * torch.tensor([2.0, 1.0]) - torch.tensor([1.0, 0.0])


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--steps", type=int, default=400)
    p.add_argument("--points", type=int, default=1536)
    p.add_argument("--edge", type=int, default=128)
    p.add_argument("--nu", type=float, default=0.02)
    p.add_argument("--lr", type=float, default=2e-3)
    p.add_argument("--edge-weight", type=float, default=10.0)
    args = p.parse_args()

    torch.manual_seed(2)
    grid, truth = solve(args.nu)
    field = Field()
    optimizer = torch.optim.Adam(field.parameters(), lr=args.lr, fused=True)
    decay = torch.optim.lr_scheduler.ExponentialLR(optimizer, 0.1 ** (1 / args.steps))

    started = time.time()
    for step in range(1, args.steps + 1):
        points, wanted = edge_points(args.edge)
        edge = (field(points) - wanted).square().mean()
        physics = residual(field, interior_points(args.points), args.nu).square().mean()
        loss = physics + args.edge_weight * edge
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        decay.step()
        if step % 100 == 0:
            with torch.inference_mode():
                error = (field(grid) - truth).norm() / truth.norm()
            print(f"step {step:4d}  physics {physics.item():.4f}  edge {edge.item():.4f}  "
                  f"relative error {error.item():.3f}  {(time.time() - started) / step * 1e3:.1f} ms")


if __name__ == "__main__":
    main()
