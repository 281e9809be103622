import argparse
import copy
import math

import torch
import torch.nn as nn
import torch.nn.functional as F


def cosine_alphas(T):
    s = torch.linspace(0, 1, T + 1)
    f = torch.cos((s + 0.008) / 1.008 * math.pi / 2) ** 2
    return (f / f[0])[1:].clamp(1e-4, 0.9999)


class TimeEmb(nn.Module):
    def __init__(self, d):
        super().__init__()
        self.d = d
        self.mlp = nn.Sequential(nn.Linear(d, d * 2), nn.SiLU(), nn.Linear(d * 2, d))

    def forward(self, t):
        f = torch.exp(-math.log(10000) * torch.arange(self.d // 2) / (self.d // 2))
        a = t[:, None].float() * f[None]
        return self.mlp(torch.cat([a.sin(), a.cos()], 1))


class Res(nn.Module):
    def __init__(self, c, d):
        super().__init__()
        self.n1, self.n2 = nn.GroupNorm(8, c), nn.GroupNorm(8, c)
        self.c1, self.c2 = nn.Conv2d(c, c, 3, padding=1), nn.Conv2d(c, c, 3, padding=1)
        self.t = nn.Linear(d, c)

    def forward(self, x, e):
        h = self.c1(F.silu(self.n1(x))) + self.t(e)[:, :, None, None]
        return x + self.c2(F.silu(self.n2(h)))


class UNet(nn.Module):
    def __init__(self, c=32, d=64):
        super().__init__()
        self.temb = TimeEmb(d)
        self.inp = nn.Conv2d(1, c, 3, padding=1)
        self.d1, self.d2 = nn.ModuleList([Res(c, d) for _ in range(2)]), nn.ModuleList([Res(c * 2, d) for _ in range(4)])
        self.down = nn.Conv2d(c, c * 2, 4, 2, 1)
        self.mid = nn.ModuleList([Res(c * 4, d) for _ in range(5)])
        self.down2 = nn.Conv2d(c * 2, c * 4, 4, 2, 1)
        self.up2 = nn.ConvTranspose2d(c * 4, c * 2, 4, 2, 1)
        self.up = nn.ConvTranspose2d(c * 2, c, 4, 2, 1)
        self.out = nn.Sequential(nn.GroupNorm(8, c), nn.SiLU(), nn.Conv2d(c, 1, 3, padding=1))

    def forward(self, x, t):
        e = self.temb(t)
        h = self.inp(x)
        for b in self.d1:
            h = b(h, e)
        h2 = self.down(h)
        for b in self.d2:
            h2 = b(h2, e)
        m = self.down2(h2)
        for b in self.mid:
            m = b(m, e)
        return self.out(h + self.up(h2 + self.up2(m)))


class EMA:
    def __init__(self, model, decay=0.999):
        self.decay = decay
        self.shadow = {k: v.clone() for k, v in model.state_dict().items()}

    def update(self, model):
        state = copy.deepcopy(model.state_dict())
        for name in state:
            old = self.shadow[name].double()
            self.shadow[name] = (self.decay * old + (1 - self.decay) * state[name].double()).float()


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--iters", type=int, default=120)
    p.add_argument("--batch", type=int, default=8)
    p.add_argument("--timesteps", type=int, default=1000)
    args = p.parse_args()
    torch.manual_seed(0)
    data = torch.rand(512, 1, 16, 16) * 2 - 1
    model = UNet()
    ema = EMA(model)
    opt = torch.optim.AdamW(model.parameters(), lr=2e-4)
    avg = 0.0
    for it in range(args.iters):
        abar = cosine_alphas(args.timesteps)
        x0 = data[torch.randint(0, len(data), (args.batch,))]
        t = torch.randint(0, args.timesteps, (args.batch,))
        eps = torch.randn_like(x0)
        a = abar[t].view(-1, 1, 1, 1)
        loss = F.mse_loss(model(a.sqrt() * x0 + (1 - a).sqrt() * eps, t), eps)
        opt.zero_grad()
        loss.backward()
        opt.step()
        ema.update(model)
        avg = 0.95 * avg + 0.05 * loss.item()
        if it % 20 == 0:
            print(f"iter {it} loss {avg:.4f}")


if __name__ == "__main__":
    main()
