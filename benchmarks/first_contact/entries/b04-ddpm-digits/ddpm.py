import argparse, math, pathlib
import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset
from tqdm import tqdm


def toy_digits(n, size=16, seed=0):
    """seven-segment style glyphs, jittered"""
    g = torch.Generator().manual_seed(seed)
    seg = {0: "abcdef", 1: "bc", 2: "abged", 3: "abgcd", 4: "fgbc", 5: "afgcd", 6: "afgedc", 7: "abc", 8: "abcdefg", 9: "abcdfg"}
    box = dict(a=(2, 3, 4, 12), b=(2, 8, 11, 12), c=(8, 14, 11, 12), d=(13, 14, 4, 12), e=(8, 14, 4, 5), f=(2, 8, 4, 5), g=(7, 8, 4, 12))
    base = torch.full((10, size, size), -1.0)
    for k, names in seg.items():
        for s in names:
            r0, r1, c0, c1 = box[s]
            base[k, r0:r1, c0:c1] = 1
    lab = torch.randint(0, 10, (n,), generator=g)
    x = base[lab]
    sh = torch.randint(-1, 2, (2,), generator=g).tolist()
    return torch.roll(x, sh, (1, 2)).unsqueeze(1), lab


class Diffusion:
    def __init__(self, T=1000, b0=1e-4, b1=0.02):
        self.T = T
        self.betas = torch.linspace(b0, b1, T)

    def alpha_bar(self, t):
        return torch.stack([torch.prod(1.0 - self.betas[: int(i) + 1]) for i in t])

    def q_sample(self, x0, t, noise):
        ab = self.alpha_bar(t).view(-1, 1, 1, 1)
        return ab.sqrt() * x0 + (1 - ab).sqrt() * noise

    @torch.no_grad()
    def sample(self, model, shape, steps=20):
        x = torch.randn(shape)
        ts = torch.linspace(self.T - 1, 0, steps).long()
        for k, t in enumerate(ts):
            tb = t.repeat(shape[0])
            eps = model(x, tb)
            ab = self.alpha_bar(t[None])
            x0 = ((x - (1 - ab).sqrt() * eps) / ab.sqrt()).clamp(-1, 1)
            if k + 1 < steps:
                nxt = self.alpha_bar(ts[k + 1][None])
                x = nxt.sqrt() * x0 + (1 - nxt).sqrt() * eps
        return x0


class Block(nn.Module):
    def __init__(self, ci, co, emb):
        super().__init__()
        self.c1 = nn.Conv2d(ci, co, 3, padding=1)
        self.c2 = nn.Conv2d(co, co, 3, padding=1)
        self.n1, self.n2 = nn.GroupNorm(4, co), nn.GroupNorm(4, co)
        self.t = nn.Linear(emb, co)
        self.skip = nn.Conv2d(ci, co, 1) if ci != co else nn.Identity()

    def forward(self, x, e):
        h = F.silu(self.n1(self.c1(x)))
        h = h + self.t(e)[:, :, None, None]
        return F.silu(self.n2(self.c2(h))) + self.skip(x)


class TinyUNet(nn.Module):
    def __init__(self, ch=12, emb=48):
        super().__init__()
        self.emb = emb
        self.mlp = nn.Sequential(nn.Linear(emb, emb), nn.SiLU(), nn.Linear(emb, emb))
        self.inp = nn.Conv2d(1, ch, 3, padding=1)
        self.d1 = Block(ch, ch, emb)
        self.d2 = Block(ch, 2 * ch, emb)
        self.u1 = Block(3 * ch, ch, emb)
        self.out = nn.Conv2d(ch, 1, 3, padding=1)
        self.register_buffer("freq", torch.exp(-math.log(10000) * torch.arange(emb // 2) / (emb // 2)))

    def forward(self, x, t):
        a = t[:, None].float() * self.freq
        e = self.mlp(torch.cat([a.sin(), a.cos()], 1))
        h1 = self.d1(self.inp(x), e)
        h2 = self.d2(F.avg_pool2d(h1, 2), e)
        h = self.u1(torch.cat([F.interpolate(h2, scale_factor=2), h1], 1), e)
        return self.out(h)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=9)
    ap.add_argument("--n", type=int, default=4096)
    ap.add_argument("--bs", type=int, default=64)
    ap.add_argument("--lr", type=float, default=2e-3)
    ap.add_argument("--preview", type=int, default=20)
    ap.add_argument("--out", type=pathlib.Path, default=pathlib.Path("ddpm_out"))
    a = ap.parse_args()
    a.out.mkdir(exist_ok=True)
    torch.manual_seed(0)
    x, _ = toy_digits(a.n)
    dl = DataLoader(TensorDataset(x), batch_size=a.bs, shuffle=True, drop_last=True)
    net, diff = TinyUNet(), Diffusion()
    opt = torch.optim.AdamW(net.parameters(), lr=a.lr)
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, a.epochs * len(dl))
    it = 0
    for ep in range(a.epochs):
        bar, run = tqdm(dl, desc=f"epoch {ep}", mininterval=1.0), 0.0
        for (x0,) in bar:
            t = torch.randint(0, diff.T, (len(x0),))
            noise = torch.randn_like(x0)
            loss = F.mse_loss(net(diff.q_sample(x0, t, noise), t), noise)
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            sched.step()
            run = 0.98 * run + 0.02 * loss.item()
            it += 1
            if it % a.preview == 0:
                torch.save(diff.sample(net, (64, 1, 16, 16), steps=40), a.out / "preview.pt")
        bar.write(f"epoch {ep} loss {run:.4f}")
        if ep % 4 == 3:
            torch.save({"net": net.state_dict(), "imgs": diff.sample(net, (16, 1, 16, 16))}, a.out / f"ep{ep:02d}.pt")


if __name__ == "__main__":
    main()
