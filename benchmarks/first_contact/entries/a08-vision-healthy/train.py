import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

CFG = dict(classes=8, size=32, n_train=2048, n_val=256, batch=32, epochs=20, width=24, lr=0.05, momentum=0.9, ema=0.99)


def blobs(n, cfg, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(cfg["classes"], (n,), generator=g)
    ang = y.float() * (math.pi / cfg["classes"])
    lin = torch.linspace(-1, 1, cfg["size"])
    yy, xx = torch.meshgrid(lin, lin, indexing="ij")
    wave = torch.sin(12 * (xx * torch.cos(ang)[:, None, None] + yy * torch.sin(ang)[:, None, None]))
    x = wave[:, None] * torch.rand(n, 3, 1, 1, generator=g) + 0.5 * torch.randn(n, 3, *yy.shape, generator=g)
    return x, y


class Residual(nn.Module):
    def __init__(self, c):
        super().__init__()
        self.a = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.na = nn.BatchNorm2d(c)
        self.b = nn.Conv2d(c, c, 3, padding=1, bias=False)
        self.nb = nn.BatchNorm2d(c)

    def forward(self, x):
        return F.relu(x + self.nb(self.b(F.relu(self.na(self.a(x))))))


def build(cfg):
    w = cfg["width"]
    return nn.Sequential(
        nn.Conv2d(3, w, 3, padding=1, bias=False), nn.BatchNorm2d(w), nn.ReLU(), nn.MaxPool2d(2),
        Residual(w), nn.Conv2d(w, 2 * w, 3, stride=2, padding=1), Residual(2 * w),
        nn.AdaptiveAvgPool2d(1), nn.Flatten(), nn.Linear(2 * w, cfg["classes"]))


def augment(x):
    if torch.rand(()) < 0.5:
        x = x.flip(3)
    dy, dx = torch.randint(-2, 3, (2,)).tolist()
    return torch.roll(x, (dy, dx), (2, 3))


class Average:
    def __init__(self, model, decay):
        self.decay = decay
        self.live = list(model.parameters())
        self.mean = [p.detach().clone() for p in self.live]

    @torch.no_grad()
    def update(self):
        torch._foreach_lerp_(self.mean, self.live, 1 - self.decay)


def main(cfg):
    torch.manual_seed(1)
    x, y = blobs(cfg["n_train"], cfg, 0)
    vx, vy = blobs(cfg["n_val"], cfg, 1)
    model = build(cfg)
    opt = torch.optim.SGD(model.parameters(), cfg["lr"], momentum=cfg["momentum"], nesterov=True)
    total = cfg["epochs"] * cfg["n_train"] // cfg["batch"]
    sched = torch.optim.lr_scheduler.CosineAnnealingLR(opt, total)
    avg = Average(model, cfg["ema"])
    for epoch in range(cfg["epochs"]):
        t0 = time.time()
        for idx in torch.randperm(len(y)).split(cfg["batch"]):
            loss = F.cross_entropy(model(augment(x[idx])), y[idx])
            opt.zero_grad()
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 5.0)
            opt.step()
            sched.step()
            avg.update()
        model.eval()
        with torch.no_grad():
            acc = (model(vx).argmax(1) == vy).float().mean()
        model.train()
        print(f"{epoch} loss {loss:.3f} |g| {norm:.2f} acc {acc:.3f} {time.time() - t0:.1f}s")


if __name__ == "__main__":
    main(CFG)
