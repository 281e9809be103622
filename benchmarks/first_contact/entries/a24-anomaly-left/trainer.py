import contextlib
import math
import random

import torch
import torch.nn as nn
import torch.nn.functional as F


class Hparams:
    vocab = 2000
    labels = 9
    dim = 64
    layers = 2
    heads = 4
    length = 32
    batch = 16
    steps = 1500
    lr = 1e-3
    check_numerics = True


class TokenTagger(nn.Module):
    """NER tagger for invoices."""

    def __init__(self, hp):
        super().__init__()
        self.emb = nn.Embedding(hp.vocab, hp.dim)
        self.pos = nn.Parameter(torch.randn(hp.length, hp.dim) * 0.02)
        self.blocks = nn.ModuleList(Block(hp) for _ in range(hp.layers))
        self.out = nn.Linear(hp.dim, hp.labels)

    def forward(self, ids):
        x = self.emb(ids) + self.pos
        for b in self.blocks:
            x = b(x)
        return self.out(x)


class Block(nn.Module):
    def __init__(self, hp):
        super().__init__()
        self.h = hp.heads
        self.n1, self.n2 = nn.LayerNorm(hp.dim), nn.LayerNorm(hp.dim)
        self.qkv = nn.Linear(hp.dim, 3 * hp.dim)
        self.proj = nn.Linear(hp.dim, hp.dim)
        self.ff = nn.Sequential(nn.Linear(hp.dim, 4 * hp.dim), nn.GELU(), nn.Linear(4 * hp.dim, hp.dim))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v).transpose(1, 2).reshape(b, t, d)
        x = x + self.proj(y)
        return x + self.ff(self.n2(x))


class Trainer:
    def __init__(self, hp):
        torch.manual_seed(0)
        random.seed(0)
        self.hp = hp
        self.model = TokenTagger(hp)
        decay = [p for p in self.model.parameters() if p.ndim >= 2]
        rest = [p for p in self.model.parameters() if p.ndim < 2]
        self.opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.01},
                                      {"params": rest, "weight_decay": 0.0}], lr=hp.lr)
        self.sched = torch.optim.lr_scheduler.LambdaLR(self.opt, self.schedule)

    def schedule(self, step):
        if step < 50:
            return (step + 1) / 50
        return 0.5 * (1 + math.cos(math.pi * (step - 50) / (self.hp.steps - 50)))

    def batch(self):
        ids = torch.randint(1, self.hp.vocab, (self.hp.batch, self.hp.length))
        labels = ids % self.hp.labels
        drop = torch.rand(ids.shape) < 0.1
        return ids.masked_fill(drop, 0), labels

    def guard(self):
        if self.hp.check_numerics:
            return torch.autograd.detect_anomaly(check_nan=True)
        return contextlib.nullcontext()

    def step(self):
        ids, labels = self.batch()
        with self.guard():
            logits = self.model(ids)
            loss = F.cross_entropy(logits.flatten(0, 1), labels.flatten())
            self.opt.zero_grad()
            loss.backward()
        nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        self.opt.step()
        self.sched.step()
        return loss.detach(), (logits.argmax(-1) == labels).float().mean()

    def run(self):
        mean_loss = mean_acc = 0.0
        for i in range(1, self.hp.steps + 1):
            loss, acc = self.step()
            mean_loss += loss
            mean_acc += acc
            if i % 50 == 0:
                print(f"{i:5d} loss {mean_loss / 50:.4f} acc {mean_acc / 50:.3f} lr {self.sched.get_last_lr()[0]:.1e}")
                mean_loss = mean_acc = 0.0


if __name__ == "__main__":
    Trainer(Hparams()).run()
