import argparse
import math
import os
import tempfile

import torch
import torch.nn as nn
import torch.nn.functional as F
from torch.utils.data import DataLoader, TensorDataset


class Encoder(nn.Module):
    def __init__(self, width=40):
        super().__init__()
        chans = [3, width, width, 2 * width, 2 * width]
        self.stages = nn.ModuleList()
        for i, (a, b) in enumerate(zip(chans, chans[1:])):
            self.stages.append(nn.Sequential(
                nn.Conv2d(a, b, 3, stride=2 if i % 2 else 1, padding=1), nn.GroupNorm(8, b), nn.GELU()))

    def forward(self, x):
        for s in self.stages:
            x = s(x)
        return x.mean((2, 3))


class Classifier(nn.Module):
    def __init__(self, encoder, classes, hidden=256):
        super().__init__()
        self.encoder = encoder
        self.head = nn.Sequential(nn.Linear(80, hidden), nn.ReLU(), nn.Dropout(0.2), nn.Linear(hidden, classes))

    def forward(self, x):
        return self.head(self.encoder(x))


class FineTuner:
    def __init__(self, args):
        torch.manual_seed(args.seed)
        self.args = args
        self.dir = tempfile.mkdtemp(prefix="ft-")
        encoder = Encoder()
        encoder.load_state_dict(torch.load(self.pretrained(), weights_only=True))
        self.model = Classifier(encoder, args.classes)
        self.optimizer = torch.optim.AdamW(self.model.head.parameters(), lr=args.lr)
        self.best = -1.0

    def pretrained(self):
        path = os.path.join(self.dir, "backbone.pt")
        torch.save(Encoder().state_dict(), path)
        return path

    def data(self, n, seed):
        g = torch.Generator().manual_seed(seed)
        y = torch.randint(0, self.args.classes, (n,), generator=g)
        proto = torch.randn(self.args.classes, 3, 32, 32, generator=torch.Generator().manual_seed(0))
        return TensorDataset(proto[y] + torch.randn(n, 3, 32, 32, generator=g), y)

    def lr_at(self, step, total):
        warm = min(1.0, (step + 1) / 20)
        return self.args.lr * warm * 0.5 * (1 + math.cos(math.pi * step / total))

    def train(self):
        loader = DataLoader(self.data(1600, 1), self.args.batch, shuffle=True, drop_last=True)
        valid = DataLoader(self.data(128, 2), 64)
        total = self.args.epochs * len(loader)
        step = 0
        for epoch in range(self.args.epochs):
            self.model.train()
            for x, y in loader:
                for group in self.optimizer.param_groups:
                    group["lr"] = self.lr_at(step, total)
                logits = self.model(x)
                loss = F.cross_entropy(logits, y)
                self.optimizer.zero_grad()
                loss.backward()
                self.optimizer.step()
                step += 1
                if step % 25 == 0:
                    print(f"step {step}/{total} loss {loss.item():.3f} lr {self.optimizer.param_groups[0]['lr']:.2e}")
            acc = self.evaluate(valid)
            if acc > self.best:
                self.best = acc
                torch.save(self.model.state_dict(), os.path.join(self.dir, "best.pt"))
            print(f"epoch {epoch}: valid acc {acc:.3f}")

    @torch.no_grad()
    def evaluate(self, loader):
        self.model.eval()
        hits = [(self.model(x).argmax(1) == y).float() for x, y in loader]
        return torch.cat(hits).mean().item()


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--classes", type=int, default=10)
    ap.add_argument("--batch", type=int, default=16)
    ap.add_argument("--epochs", type=int, default=16)
    ap.add_argument("--lr", type=float, default=1e-3)
    ap.add_argument("--seed", type=int, default=0)
    FineTuner(ap.parse_args()).train()
