import argparse
import json
import time
from pathlib import Path

import numpy as np
import torch
import torch.nn as nn
import torch.nn.functional as F


class RunLogger:
    """poor man's tensorboard: one JSON line per event"""

    def __init__(self, path, bins=40):
        self.path = Path(path)
        self.path.mkdir(exist_ok=True, parents=True)
        self.f = open(self.path / "events.jsonl", "w")
        self.bins = bins

    def scalar(self, tag, value, step):
        self.f.write(json.dumps({"tag": tag, "step": step, "value": float(value)}) + "\n")

    def histogram(self, tag, tensor, step):
        counts, edges = np.histogram(tensor.detach().cpu().numpy(), bins=self.bins)
        self.f.write(json.dumps({"tag": tag, "step": step, "counts": counts.tolist(), "edges": edges.tolist()}) + "\n")

    def close(self):
        self.f.close()


class MixerBlock(nn.Module):
    def __init__(self, patches, dim, tok, chan):
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.tok = nn.Sequential(nn.Linear(patches, tok), nn.GELU(), nn.Linear(tok, patches))
        self.chan = nn.Sequential(nn.Linear(dim, chan), nn.GELU(), nn.Linear(chan, dim))

    def forward(self, x):
        x = x + self.tok(self.n1(x).transpose(1, 2)).transpose(1, 2)
        return x + self.chan(self.n2(x))


class Mixer(nn.Module):
    def __init__(self, size=32, patch=8, dim=96, depth=4, classes=6):
        super().__init__()
        n = (size // patch) ** 2
        self.stem = nn.Conv2d(3, dim, patch, patch)
        self.blocks = nn.Sequential(*[MixerBlock(n, dim, 48, 192) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, x):
        x = self.stem(x).flatten(2).transpose(1, 2)
        return self.head(self.norm(self.blocks(x)).mean(1))


def gratings(n, size=32, classes=6, seed=0):
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    ang = np.pi * y / classes + rng.normal(0, 0.1, n)
    yy, xx = np.mgrid[:size, :size]
    ph = rng.uniform(0, 6.28, n)[:, None, None]
    wave = np.sin(0.7 * (np.cos(ang)[:, None, None] * xx + np.sin(ang)[:, None, None] * yy) + ph)
    x = wave[:, None] * rng.uniform(0.3, 1, (n, 3, 1, 1)) + rng.normal(0, 0.6, (n, 3, size, size))
    return torch.from_numpy(x.astype(np.float32)), torch.from_numpy(y)


def main(a):
    torch.manual_seed(0)
    x, y = gratings(1920)
    xv, yv = gratings(384, seed=1)
    model = Mixer()
    opt = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=0.05)
    log, step = RunLogger(a.logdir), 0
    for epoch in range(a.epochs):
        t0 = time.time()
        model.train()
        for idx in torch.randperm(len(x)).split(a.batch):
            loss = F.cross_entropy(model(x[idx]), y[idx], label_smoothing=0.1)
            opt.zero_grad()
            loss.backward()
            opt.step()
            log.scalar("train/loss", loss, step)
            for name, p in model.named_parameters():
                log.histogram("weights/" + name, p, step)
                log.histogram("grads/" + name, p.grad, step)
            step += 1
        model.eval()
        with torch.no_grad():
            acc = (model(xv).argmax(1) == yv).float().mean()
        log.scalar("val/acc", acc, step)
        print(f"epoch {epoch} loss {loss.item():.3f} val {acc.item():.3f} {time.time() - t0:.1f}s")
    log.close()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=14)
    ap.add_argument("--batch", type=int, default=48)
    ap.add_argument("--logdir", default="logs/mixer")
    main(ap.parse_args())
