"""Masked-language-model pretraining on a small synthetic corpus."""
import argparse
import math
import time
from dataclasses import dataclass

import torch
import torch.nn.functional as F
from torch import nn

PAD, CLS, MASK, SPECIAL = 0, 1, 2, 3


@dataclass
class Config:
    vocab: int = 500
    length: int = 64
    dim: int = 160
    heads: int = 5
    layers: int = 3
    masked: int = 9
    batch: int = 16


def make_corpus(cfg, n, generator):
    """Every sentence follows one of 20 topics; a word suggests its successor within the topic."""
    topics, words = 20, cfg.vocab - SPECIAL
    successor = torch.randint(words, (topics, words), generator=generator)
    topic = torch.randint(topics, (n,), generator=generator)
    out = torch.empty(n, cfg.length, dtype=torch.long)
    out[:, 0] = CLS
    word = torch.randint(words, (n,), generator=generator)
    for t in range(1, cfg.length):
        out[:, t] = word + SPECIAL
        jump = torch.rand(n, generator=generator) < 0.1
        word = torch.where(jump, torch.randint(words, (n,), generator=generator), successor[topic, word])
    return out


class Block(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.heads = cfg.heads
        self.norm1, self.norm2 = nn.LayerNorm(cfg.dim), nn.LayerNorm(cfg.dim)
        self.query, self.key_value = nn.Linear(cfg.dim, cfg.dim), nn.Linear(cfg.dim, 2 * cfg.dim)
        self.out = nn.Linear(cfg.dim, cfg.dim)
        self.up = nn.Linear(cfg.dim, 4 * cfg.dim)
        self.down = nn.Linear(4 * cfg.dim, cfg.dim)

    def forward(self, x, places=None):
        """All positions attend, or only those in places (b, m); the keys are always all positions."""
        b, t, d = x.shape
        h = self.norm1(x)
        k, v = self.key_value(h).view(b, t, 2, self.heads, -1).permute(2, 0, 3, 1, 4)
        if places is not None:
            x, h = (y[torch.arange(b)[:, None], places] for y in (x, h))
        q = self.query(h).view(b, x.shape[1], self.heads, -1).transpose(1, 2)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.out(a.transpose(1, 2).reshape(x.shape))
        return x + self.down(F.gelu(self.up(self.norm2(x))))


class MaskedLM(nn.Module):
    def __init__(self, cfg):
        super().__init__()
        self.word = nn.Embedding(cfg.vocab, cfg.dim)
        self.position = nn.Parameter(torch.randn(cfg.length, cfg.dim) * 0.02)
        self.blocks = nn.ModuleList(Block(cfg) for _ in range(cfg.layers))
        self.norm = nn.LayerNorm(cfg.dim)
        self.bias = nn.Parameter(torch.zeros(cfg.vocab))
        nn.init.normal_(self.word.weight, std=0.02)

    def forward(self, tokens, places):
        x = self.word(tokens) + self.position
        for block in self.blocks[:-1]:
            x = block(x)
        x = self.blocks[-1](x, places)
        return F.linear(self.norm(x), self.word.weight, self.bias).flatten(0, 1)


def corrupt(tokens, cfg):
    """Choose cfg.masked places in each row; 80 % become MASK, 10 % a random word, 10 % stay."""
    places = torch.rand(len(tokens), cfg.length - 1).topk(cfg.masked, dim=1).indices + 1
    target = tokens.gather(1, places)
    dice = torch.rand(target.shape)
    noise = torch.randint(SPECIAL, cfg.vocab, target.shape)
    put = torch.where(dice < 0.8, torch.full_like(target, MASK), torch.where(dice < 0.9, noise, target))
    return tokens.scatter(1, places, put), places, target.flatten()


@torch.inference_mode()
def validate(model, data, cfg):
    model.eval()
    right = total = 0
    for chunk in data.split(64):
        tokens, places, target = corrupt(chunk, cfg)
        right += (model(tokens, places).argmax(1) == target).sum().item()
        total += len(target)
    model.train()
    return right / total


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--lr", type=float, default=1.5e-3)
    parser.add_argument("--report", type=int, default=200)
    args = parser.parse_args()
    cfg = Config()
    torch.manual_seed(7)
    corpus = make_corpus(cfg, 8192, torch.Generator().manual_seed(7))
    train, held_out = corpus[:-256], corpus[-256:]

    model = MaskedLM(cfg)
    optimizer = torch.optim.AdamW(model.parameters(), lr=args.lr, weight_decay=0.01, fused=True)
    schedule = torch.optim.lr_scheduler.LambdaLR(
        optimizer, lambda s: min((s + 1) / 50, 0.5 * (1 + math.cos(math.pi * s / args.steps))))
    start, order, total = time.perf_counter(), [], 0.0
    for step in range(1, args.steps + 1):
        if not order:
            order = list(torch.randperm(len(train)).split(cfg.batch))
        tokens, places, target = corrupt(train[order.pop()], cfg)
        loss = F.cross_entropy(model(tokens, places), target)
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        schedule.step()
        total += loss.detach()
        if step % args.report == 0:
            print(f"step {step:4d}  loss {float(total) / args.report:.3f}  "
                  f"accuracy {validate(model, held_out, cfg):.3f}  {time.perf_counter() - start:.1f}s")
            total = 0.0


if __name__ == "__main__":
    main()
