"""Physics-informed network for the viscous Burgers equation u_t + u u_x = nu u_xx."""
import math
from dataclasses import dataclass, field

import numpy as np
import torch
from torch import nn

# torch.set_default_dtype(torch.float64)
torch.autograd.set_detect_anomaly(True)


@dataclass
class Config:
    nu: float = 0.01 / math.pi
    width: int = 40
    depth: int = 5
    n_collocation: int = 900
    n_boundary: int = 100
    n_initial: int = 100
    iterations: int = 900
    resample_every: int = 50
    lr: float = 1e-3
    weights: dict = field(default_factory=lambda: {"pde": 1.0, "ic": 10.0, "bc": 5.0})


class MLP(nn.Module):
    def __init__(self, width, depth):
        super().__init__()
        sizes = [2] + [width] * depth + [1]
        self.layers = nn.ModuleList(nn.Linear(a, b) for a, b in zip(sizes, sizes[1:]))
        for layer in self.layers:
            nn.init.xavier_normal_(layer.weight)
            nn.init.zeros_(layer.bias)

    def forward(self, t, x):
        h = torch.cat([t, x], dim=1)
        for layer in self.layers[:-1]:
            h = torch.tanh(layer(h))
        return self.layers[-1](h)


def derivative(y, wrt):
    return torch.autograd.grad(y, wrt, grad_outputs=torch.ones_like(y), create_graph=True)[0]


class Burgers:
    def __init__(self, cfg):
        self.cfg = cfg
        self.net = MLP(cfg.width, cfg.depth)
        self.optimizer = torch.optim.Adam(self.net.parameters(), lr=cfg.lr)
        self.scheduler = torch.optim.lr_scheduler.ExponentialLR(self.optimizer, 0.9995)
        self.log = []
        self.resample()

    def resample(self):
        c = self.cfg
        self.t = torch.rand(c.n_collocation, 1, requires_grad=True)
        self.x = (torch.rand(c.n_collocation, 1) * 2 - 1).requires_grad_()
        self.x0 = torch.rand(c.n_initial, 1) * 2 - 1
        self.tb = torch.rand(c.n_boundary, 1)
        self.side = torch.randint(0, 2, (c.n_boundary, 1)).float() * 2 - 1

    def residual(self):
        u = self.net(self.t, self.x)
        u_t = derivative(u, self.t)
        u_x = derivative(u, self.x)
        u_xx = derivative(u_x, self.x)
        return u_t + u * u_x - self.cfg.nu * u_xx

    def losses(self):
        pde = self.residual().square().mean()
        u0 = self.net(torch.zeros_like(self.x0), self.x0)
        ic = (u0 + torch.sin(math.pi * self.x0)).square().mean()
        bc = self.net(self.tb, self.side).square().mean()
        return {"pde": pde, "ic": ic, "bc": bc}

    def train(self):
        c = self.cfg
        for it in range(1, c.iterations + 1):
            parts = self.losses()
            loss = sum(c.weights[k] * v for k, v in parts.items())
            self.optimizer.zero_grad()
            loss.backward()
            self.optimizer.step()
            self.scheduler.step()
            self.log.append([v.item() for v in parts.values()])
            if it % c.resample_every == 0:
                self.resample()
            if it % 100 == 0:
                pde, ic, bc = np.mean(self.log[-100:], axis=0)
                print(f"it {it:5d}  pde {pde:.2e}  ic {ic:.2e}  bc {bc:.2e}")

    @torch.no_grad()
    def profile_at(self, t, n=101):
        x = torch.linspace(-1, 1, n).unsqueeze(1)
        return x.squeeze(1).numpy(), self.net(torch.full_like(x, t), x).squeeze(1).numpy()


if __name__ == "__main__":
    torch.manual_seed(1234)
    problem = Burgers(Config())
    problem.train()
    for t in (0.0, 0.5, 1.0):
        x, u = problem.profile_at(t)
        print(f"t={t:.1f} max u {u.max():+.3f} at x={x[u.argmax()]:+.2f}")
    torch.save(problem.net.state_dict(), "burgers.pt")
