"""Second-order MAML with torch.func: all tasks of the meta batch in one vmap."""
import argparse
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.func import functional_call, grad, vmap


def sine_tasks(n, shots, query, g):
    amp = 0.1 + 4.9 * torch.rand(n, 1, 1, generator=g)
    phase = math.pi * torch.rand(n, 1, 1, generator=g)
    x = -5 + 10 * torch.rand(n, shots + query, 1, generator=g)
    y = amp * torch.sin(x - phase)
    return x[:, :shots], y[:, :shots], x[:, shots:], y[:, shots:]


class Net(nn.Module):
    def __init__(self, h=96):
        super().__init__()
        self.f = nn.Sequential(nn.Linear(1, h), nn.ReLU(), nn.Linear(h, h), nn.ReLU(), nn.Linear(h, 1))

    def forward(self, x):
        return self.f(x)


def build(model, inner_lr, inner_steps):
    def task_loss(params, x, y):
        return F.mse_loss(functional_call(model, params, (x,)), y)

    def adapted_loss(params, xs, ys, xq, yq):
        fast = params
        for _ in range(inner_steps):
            g = grad(task_loss)(fast, xs, ys)
            fast = {k: fast[k] - inner_lr * g[k] for k in fast}
        return task_loss(fast, xq, yq)

    return vmap(adapted_loss, in_dims=(None, 0, 0, 0, 0))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iterations", type=int, default=1000)
    ap.add_argument("--tasks", type=int, default=64)
    ap.add_argument("--shots", type=int, default=10)
    ap.add_argument("--query", type=int, default=20)
    ap.add_argument("--inner-lr", type=float, default=0.02)
    ap.add_argument("--inner-steps", type=int, default=2)
    ap.add_argument("--meta-lr", type=float, default=1e-3)
    a = ap.parse_args()
    torch.manual_seed(0)
    g = torch.Generator().manual_seed(0)
    model = Net()
    losses = build(model, a.inner_lr, a.inner_steps)
    opt = torch.optim.Adam(model.parameters(), lr=a.meta_lr)
    held = sine_tasks(50, a.shots, 100, torch.Generator().manual_seed(99))
    t0 = time.time()
    for it in range(1, a.iterations + 1):
        params = dict(model.named_parameters())
        loss = losses(params, *sine_tasks(a.tasks, a.shots, a.query, g)).mean()
        opt.zero_grad(set_to_none=True)
        loss.backward()
        opt.step()
        if it % 60 == 0:
            with torch.no_grad():
                test = losses({k: p.detach() for k, p in params.items()}, *held).mean()
            print(f"{it:5d} meta loss {loss.item():.4f} held-out {test.item():.4f} {time.time() - t0:.1f}s")
    torch.save(model.state_dict(), "maml_func.pt")


if __name__ == "__main__":
    main()
