"""Finite-volume reference for u_t + u u_x = nu u_xx on [-1, 1], u(x, 0) = -sin(pi x)."""
import math

import torch


def solve(nu, cells=512, t_end=1.0, shots=11):
    dx = 2.0 / cells
    x = torch.linspace(-1 + dx / 2, 1 - dx / 2, cells, dtype=torch.float64)
    u = -torch.sin(math.pi * x)
    dt = 0.3 * min(dx, dx * dx / (2 * nu))
    steps = math.ceil(t_end / dt / (shots - 1)) * (shots - 1)
    dt, every = t_end / steps, steps // (shots - 1)
    kept = [u.clone()]
    for n in range(1, steps + 1):
        padded = torch.cat([-u[:1], u, -u[-1:]])
        left, right = padded[:-1], padded[1:]
        speed = torch.maximum(left.abs(), right.abs())
        flux = 0.25 * (left ** 2 + right ** 2) - 0.5 * speed * (right - left) - nu * (right - left) / dx
        u = u - dt / dx * (flux[1:] - flux[:-1])
        if n % every == 0:
            kept.append(u.clone())
    times = torch.linspace(0, t_end, shots)
    grid = torch.stack(torch.meshgrid(times, x.float(), indexing="ij"), dim=-1).flip(-1).reshape(-1, 2)
    return grid, torch.stack(kept).float().reshape(-1)
