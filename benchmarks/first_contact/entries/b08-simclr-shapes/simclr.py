import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

from augment import BatchAugment

CONFIG = {
    "n": 3000, "batch": 50, "epochs": 12, "temperature": 0.2, "lr": 1e-3,
    "weight_decay": 1e-4, "warmup": 30, "knn_every": 3, "log_every": 1,
}


def draw_shapes(n, size=32):
    """three shapes x random colours, drawn with distance masks"""
    ax = torch.linspace(-1, 1, size)
    yy, xx = torch.meshgrid(ax, ax, indexing="ij")
    kind = torch.randint(0, 3, (n,))
    c = (torch.rand(n, 2, 1, 1) - 0.5)
    r = 0.25 + 0.25 * torch.rand(n, 1, 1)
    dx, dy = xx - c[:, 0], yy - c[:, 1]
    masks = torch.stack([(dx**2 + dy**2).sqrt() < r, torch.maximum(dx.abs(), dy.abs()) < r, (dx.abs() + dy.abs()) < r])
    m = masks[kind, torch.arange(n)].float().unsqueeze(1)
    col, bg = torch.rand(n, 3, 1, 1), 0.3 * torch.rand(n, 3, 1, 1)
    return m * col + (1 - m) * bg, kind


class Encoder(nn.Module):
    def __init__(self, width=16, out=128):
        super().__init__()

        def stage(i, o):
            return nn.Sequential(nn.Conv2d(i, o, 3, stride=2, padding=1, bias=False), nn.BatchNorm2d(o), nn.ReLU(inplace=True))

        self.net = nn.Sequential(stage(3, width), stage(width, 2 * width), stage(2 * width, 4 * width), nn.AdaptiveAvgPool2d(1), nn.Flatten())
        self.proj = nn.Sequential(nn.Linear(4 * width, 4 * width), nn.ReLU(inplace=True), nn.Linear(4 * width, out))

    def forward(self, x):
        h = self.net(x)
        return h, F.normalize(self.proj(h), dim=1)


def nt_xent(z1, z2, tau):
    n = z1.size(0)
    z = torch.cat([z1, z2])
    sim = z @ z.T / tau
    sim.fill_diagonal_(float("-inf"))
    target = torch.arange(2 * n).roll(n)
    return F.cross_entropy(sim, target), (sim.argmax(1) == target).float().mean()


@torch.no_grad()
def knn_accuracy(model, x, y, k=5):
    model.eval()
    h = torch.cat([F.normalize(model(b)[0], dim=1) for b in x[:900].split(300)])
    model.train()
    ref, q = h[:600], h[600:]
    nn_idx = (q @ ref.T).topk(k, dim=1).indices
    return (y[:600][nn_idx].mode(1).values == y[600:900]).float().mean().item()


def main(cfg):
    torch.manual_seed(7)
    x, y = draw_shapes(cfg["n"])
    aug, model = BatchAugment(), Encoder().to(memory_format=torch.channels_last)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=cfg["weight_decay"])
    per_epoch = cfg["n"] // cfg["batch"]
    total = per_epoch * cfg["epochs"]
    lr = lambda s: min(1.0, (s + 1) / cfg["warmup"]) * 0.5 * (1 + math.cos(math.pi * s / total))
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lr)
    step = 0
    for epoch in range(cfg["epochs"]):
        t0 = time.time()
        order = torch.randperm(cfg["n"])[: per_epoch * cfg["batch"]]
        for idx in order.split(cfg["batch"]):
            xb = x[idx]
            both = torch.cat([aug(xb), aug(xb)]).contiguous(memory_format=torch.channels_last)
            _, z = model(both)
            loss, acc = nt_xent(*z.chunk(2), cfg["temperature"])
            opt.zero_grad(set_to_none=True)
            loss.backward()
            opt.step()
            sched.step()
            if step % cfg["log_every"] == 0:
                print(f"step {step:4d} loss {loss.item():.3f} contrastive acc {acc.item():.3f} lr {sched.get_last_lr()[0]:.2e}")
            step += 1
        msg = f"epoch {epoch} {time.time() - t0:.1f}s"
        if (epoch + 1) % cfg["knn_every"] == 0:
            msg += f" knn {knn_accuracy(model, x, y):.3f}"
        print(msg)
    torch.save(model.net.state_dict(), "encoder.pt")


if __name__ == "__main__":
    main(CONFIG)
