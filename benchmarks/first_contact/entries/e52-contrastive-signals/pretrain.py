"""SimCLR on multichannel sensor signals, with a linear probe now and then."""
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Signals:
    """Eight kinds of movement seen by six sensors, 128 samples a window."""

    def __init__(self, count, seed):
        g = torch.Generator().manual_seed(seed)
        shared = torch.Generator().manual_seed(99)
        speed, mix = 1 + 4 * torch.rand(8, 3, generator=shared), torch.randn(8, 6, 3, generator=shared)
        self.y = torch.randint(8, (count,), generator=g)
        t = torch.linspace(0, 1, 128)
        phase = 2 * math.pi * torch.rand(count, 3, 1, generator=g)
        waves = torch.sin(2 * math.pi * speed[self.y].unsqueeze(2) * t + phase)
        self.x = mix[self.y] @ waves + 0.7 * torch.randn(count, 6, 128, generator=g)


def two_views(x):
    """Scale, jitter and shift each window twice, independently; both views in one batch."""
    x = torch.cat([x, x])
    n = len(x)
    shift = torch.randint(128, (n, 1))
    index = (torch.arange(128) + shift) % 128
    x = x.gather(2, index.unsqueeze(1).expand(-1, x.shape[1], -1))
    x = x * (1 + 0.2 * torch.randn(n, x.shape[1], 1))
    return x + 0.1 * torch.randn(n, 1, 128)


class Encoder(nn.Module):
    def __init__(self, width=64, layers=3):
        super().__init__()
        self.patch = nn.Linear(6 * 4, 2 * width)
        self.place = nn.Parameter(0.02 * torch.randn(32, 2 * width))
        self.mixers = nn.ModuleList(Mixer(32, 2 * width) for _ in range(layers))
        self.norm = nn.LayerNorm(2 * width)

    def forward(self, x):
        n, c, t = x.shape
        h = x.view(n, c, t // 4, 4).transpose(1, 2).reshape(n, t // 4, 4 * c)
        h = self.patch(h) + self.place
        for mixer in self.mixers:
            h = mixer(h)
        return self.norm(h).mean(1)


class Mixer(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.t1, self.t2 = nn.Linear(tokens, 2 * tokens), nn.Linear(2 * tokens, tokens)
        self.c1, self.c2 = nn.Linear(dim, 2 * dim), nn.Linear(2 * dim, dim)

    def forward(self, h):
        h = h + self.t2(F.relu(self.t1(self.n1(h).transpose(1, 2)))).transpose(1, 2)
        return h + self.c2(F.relu(self.c1(self.n2(h))))


def nt_xent(z, temperature=0.2):
    z = F.normalize(z, dim=1)
    n = len(z) // 2
    sim = (z @ z.T / temperature).fill_diagonal_(float("-inf"))
    partner = torch.arange(2 * n).roll(n)
    return F.cross_entropy(sim, partner)


@torch.no_grad()
def embed(encoder, x):
    encoder.eval()
    out = torch.cat([encoder(c) for c in x.split(256)])
    encoder.train()
    return out


def probe(encoder, train, test):
    """Ridge regression on frozen features."""
    a = F.normalize(embed(encoder, train.x[:1000]), dim=1)
    b = F.normalize(embed(encoder, test.x), dim=1)
    gram = a.T @ a + 1e-3 * torch.eye(a.shape[1])
    weight = torch.linalg.solve(gram, a.T @ F.one_hot(train.y[:1000], 8).float())
    return ((b @ weight).argmax(1) == test.y).float().mean().item()


if __name__ == "__main__":
    torch.manual_seed(8)
    train, test = Signals(6000, 1), Signals(500, 2)
    encoder = Encoder()
    projector = nn.Sequential(nn.Linear(128, 128), nn.ReLU(), nn.Linear(128, 64))
    params = [*encoder.parameters(), *projector.parameters()]
    opt = torch.optim.AdamW(params, lr=1e-3, weight_decay=1e-3, fused=True)
    total, batch, clock = 400, 96, time.time()
    order = iter(())
    for step in range(1, total + 1):
        pick = next(order, None)
        if pick is None:
            order = iter(torch.randperm(len(train.x))[: len(train.x) // batch * batch].split(batch))
            pick = next(order)
        for group in opt.param_groups:
            group["lr"] = 1e-3 * min(1, step / 50) * 0.5 * (1 + math.cos(math.pi * step / total))
        loss = nt_xent(projector(encoder(two_views(train.x[pick]))))
        opt.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(params, 5.0)
        opt.step()
        if step % 25 == 0:
            print(f"{step}/{total} loss {loss.item():.3f} |grad| {norm.item():.2f} {time.time() - clock:.0f}s")
        if step % 200 == 0:
            print(f"   linear probe {probe(encoder, train, test):.3f}")
