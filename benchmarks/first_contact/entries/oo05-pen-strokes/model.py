import math

import torch
import torch.nn.functional as F
from torch import nn


class PenNet(nn.Module):
    """GRU with a mixture of bivariate normals for the next offset and a Bernoulli for the lift of the pen."""

    def __init__(self, hidden=256, layers=2, mixtures=12):
        super().__init__()
        self.mixtures = mixtures
        self.rnn = nn.GRU(3, hidden, layers)
        self.out = nn.Linear(hidden, 6 * mixtures + 1)

    def forward(self, x, state=None):
        h, state = self.rnn(x, state)
        return self.out(h), state

    def split(self, out):
        pi, mx, my, sx, sy, rho = out[..., :-1].chunk(6, dim=-1)
        return pi, mx, my, sx, sy, torch.tanh(rho) * 0.98, out[..., -1]

    def loss(self, out, target, mask):
        # only the points that exist go through the density
        pi, mx, my, sx, sy, rho, lift = self.split(out[mask])
        target = target[mask]
        zx = (target[:, 0:1] - mx) * torch.exp(-sx)
        zy = (target[:, 1:2] - my) * torch.exp(-sy)
        rest = 1 - rho.square()
        z = zx.square() + zy.square() - 2 * rho * zx * zy
        log_n = -z / (2 * rest) - sx - sy - 0.5 * torch.log(rest) - math.log(2 * math.pi)
        density = torch.logsumexp(F.log_softmax(pi, dim=-1) + log_n, dim=-1)
        return -density.mean() + F.binary_cross_entropy_with_logits(lift, target[:, 2])

    @torch.inference_mode()
    def write(self, n, steps, generator=None):
        x, state = torch.zeros(1, n, 3), None
        path = []
        for _ in range(steps):
            out, state = self(x, state)
            pi, mx, my, sx, sy, rho, lift = self.split(out[0])
            k = torch.multinomial(torch.softmax(pi, dim=-1), 1, generator=generator)
            mx, my, sx, sy, rho = (v.gather(1, k).squeeze(1) for v in (mx, my, sx, sy, rho))
            a, b = torch.randn(2, n, generator=generator)
            dx = mx + sx.exp() * a
            dy = my + sy.exp() * (rho * a + (1 - rho.square()).sqrt() * b)
            up = (torch.rand(n, generator=generator) < torch.sigmoid(lift)).float()
            x = torch.stack([dx, dy, up], dim=-1).unsqueeze(0)
            path.append(x[0])
        return torch.stack(path, dim=1)
