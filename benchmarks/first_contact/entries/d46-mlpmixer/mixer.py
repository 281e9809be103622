"""MLP-Mixer on 24x24 synthetic textures (config dict, cosine schedule, rare validation)."""
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

config = {
    "classes": 8, "train": 8192, "valid": 512, "size": 24, "patch": 4,
    "dim": 96, "depth": 4, "batch": 64, "steps": 400, "warmup": 50,
    "lr": 1.5e-3, "smoothing": 0.1, "valid_every": 200,
}


def textures(n, cfg, g):
    y = torch.randint(cfg["classes"], (n,), generator=g)
    r = torch.arange(cfg["size"]).float()
    angle = y.float() * math.pi / cfg["classes"]
    grid = torch.cos(angle)[:, None, None] * r[:, None] + torch.sin(angle)[:, None, None] * r
    x = torch.sin(grid * 0.9 + 6.28 * torch.rand(n, 1, 1, generator=g))
    return (x + 0.8 * torch.randn(x.shape, generator=g)).unsqueeze(1), y


class MixerLayer(nn.Module):
    def __init__(self, tokens, dim):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.token = nn.Sequential(nn.Linear(tokens, 2 * tokens), nn.GELU(), nn.Linear(2 * tokens, tokens))
        self.channel = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        x = x + self.token(self.norm1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.channel(self.norm2(x))


class Mixer(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        tokens = (cfg["size"] // cfg["patch"]) ** 2
        self.patches = nn.Conv2d(1, cfg["dim"], cfg["patch"], cfg["patch"])
        self.layers = nn.ModuleList(MixerLayer(tokens, cfg["dim"]) for _ in range(cfg["depth"]))
        self.norm = nn.LayerNorm(cfg["dim"])
        self.head = nn.Linear(cfg["dim"], cfg["classes"])

    def forward(self, x):
        x = self.patches(x).flatten(2).transpose(1, 2)
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x).mean(1))


def lr_at(step, cfg):
    if step < cfg["warmup"]:
        return (step + 1) / cfg["warmup"]
    return 0.5 * (1 + math.cos(math.pi * (step - cfg["warmup"]) / (cfg["steps"] - cfg["warmup"])))


@torch.inference_mode()
def accuracy(model, x, y):
    model.eval()
    hits = sum((model(a).argmax(1) == b).sum() for a, b in zip(x.split(256), y.split(256)))
    model.train()
    return hits.item() / len(y)


def run(cfg):
    torch.manual_seed(11)
    g = torch.Generator().manual_seed(11)
    x, y = textures(cfg["train"], cfg, g)
    vx, vy = textures(cfg["valid"], cfg, g)
    model = Mixer(cfg)
    opt = torch.optim.AdamW(model.parameters(), lr=cfg["lr"], weight_decay=0.02, fused=True)
    sched = torch.optim.lr_scheduler.LambdaLR(opt, lambda s: lr_at(s, cfg))
    t0 = time.time()
    for step in range(1, cfg["steps"] + 1):
        idx = torch.randint(len(x), (cfg["batch"],))
        loss = F.cross_entropy(model(x[idx]), y[idx], label_smoothing=cfg["smoothing"])
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        sched.step()
        if step % 100 == 0:
            print(f"{step} loss {loss.item():.3f} {time.time() - t0:.1f}s")
        if step % cfg["valid_every"] == 0:
            print(f"{step} valid accuracy {accuracy(model, vx, vy):.3f}")
            torch.save({"model": model.state_dict(), "opt": opt.state_dict(), "step": step}, "mixer.pt")


if __name__ == "__main__":
    run(config)
