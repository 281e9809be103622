import torch
import torch.nn as nn
from torch.optim import Optimizer

EPS = 1e-5


def distance(u, v):
    uu = u.pow(2).sum(-1).clamp(0, 1 - EPS)
    vv = v.pow(2).sum(-1).clamp(0, 1 - EPS)
    uv = (u - v).pow(2).sum(-1)
    x = 1 + 2 * uv / ((1 - uu) * (1 - vv))
    return torch.log(x + torch.sqrt((x * x - 1).clamp_min(1e-9)))


class PoincareEmbedding(nn.Module):
    def __init__(self, n, dim):
        super().__init__()
        self.table = nn.Embedding(n, dim)
        nn.init.uniform_(self.table.weight, -1e-3, 1e-3)

    def forward(self, batch):
        e = self.table(batch)
        return -distance(e[:, :1], e[:, 1:])


class RiemannianSGD(Optimizer):
    def __init__(self, params, lr):
        super().__init__(params, dict(lr=lr))

    @torch.no_grad()
    def step(self):
        for group in self.param_groups:
            for p in group["params"]:
                if p.grad is None:
                    continue
                scale = (1 - p.pow(2).sum(-1, keepdim=True)).pow(2) / 4
                p.add_(p.grad * scale, alpha=-group["lr"])
                norm = p.norm(dim=-1, keepdim=True)
                p.copy_(torch.where(norm >= 1 - EPS, p / norm * (1 - EPS), p))
