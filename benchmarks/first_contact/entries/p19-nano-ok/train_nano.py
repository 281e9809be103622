"""Small GPT trained on token ids in a memory-mapped file."""
from __future__ import annotations

import argparse
import math
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional as F


@dataclass(frozen=True)
class GPTConfig:
    vocab: int = 1024
    ctx: int = 128
    dim: int = 192
    heads: int = 6
    layers: int = 3




class Attention(nn.Module):
    def __init__(self, c: GPTConfig) -> None:
        super().__init__()
        self.h = c.heads
        self.qkv = nn.Linear(c.dim, 3 * c.dim, bias=False)
        self.out = nn.Linear(c.dim, c.dim, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        b, t, d = x.shape
        q, k, v = self.qkv(x).view(b, t, 3, self.h, d // self.h).permute(2, 0, 3, 1, 4).unbind(0)
        return self.out(F.scaled_dot_product_attention(q, k, v, is_causal=True).transpose(1, 2).reshape(b, t, d))


class Block(nn.Module):
    def __init__(self, c: GPTConfig) -> None:
        super().__init__()
        self.n1, self.n2 = nn.LayerNorm(c.dim, bias=False), nn.LayerNorm(c.dim, bias=False)
        self.attn = Attention(c)
        self.mlp = nn.Sequential(nn.Linear(c.dim, 4 * c.dim, bias=False), nn.GELU(), nn.Linear(4 * c.dim, c.dim, bias=False))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.attn(self.n1(x))
        return x + self.mlp(self.n2(x))


class GPT(nn.Module):
    def __init__(self, c: GPTConfig) -> None:
        super().__init__()
        self.wte, self.wpe = nn.Embedding(c.vocab, c.dim), nn.Embedding(c.ctx, c.dim)
        self.blocks = nn.ModuleList(Block(c) for _ in range(c.layers))
        self.norm = nn.LayerNorm(c.dim, bias=False)
        self.head = nn.Linear(c.dim, c.vocab, bias=False)
        self.head.weight = self.wte.weight

    def forward(self, idx: Tensor, targets: Tensor) -> Tensor:
        x = self.wte(idx) + self.wpe.weight[: idx.size(1)]
        for block in self.blocks:
            x = block(x)
        return F.cross_entropy(self.head(self.norm(x)).flatten(0, 1), targets.flatten())


def get_batch(path: Path, bs: int, ctx: int) -> tuple[Tensor, Tensor]:
    data = np.memmap(path, dtype=np.uint16, mode="r")
    ix = torch.randint(len(data) - ctx - 1, (bs,))
    x = torch.stack([torch.from_numpy(data[i:i + ctx].astype(np.int64)) for i in ix])
    y = torch.stack([torch.from_numpy(data[i + 1:i + 1 + ctx].astype(np.int64)) for i in ix])
    return x, y


def lr_at(step: int, total: int, peak: float) -> float:
    warm = max(1, total // 10)
    if step < warm:
        return peak * (step + 1) / warm
    return 0.1 * peak + 0.45 * peak * (1 + math.cos(math.pi * (step - warm) / max(1, total - warm)))


def main() -> None:
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=60)
    ap.add_argument("--bs", type=int, default=8)
    ap.add_argument("--eval-every", type=int, default=200)
    args = ap.parse_args()
    torch.manual_seed(1337)
    cfg = GPTConfig()
    with tempfile.TemporaryDirectory() as tmp:
        path = Path(tmp) / "train.bin"
        (np.random.default_rng(0).zipf(1.3, 400_000) % cfg.vocab).astype(np.uint16).tofile(path)
        model = GPT(cfg)
        groups = [{"params": [p for p in model.parameters() if p.ndim >= 2], "weight_decay": 0.1},
                  {"params": [p for p in model.parameters() if p.ndim < 2], "weight_decay": 0.0}]
        opt = torch.optim.AdamW(groups, lr=3e-4, betas=(0.9, 0.95), fused=True)
        t0 = time.perf_counter()
        for step in range(args.steps):
            for g in opt.param_groups:
                g["lr"] = lr_at(step, args.steps, 6e-4)
            x, y = get_batch(path, args.bs, cfg.ctx)
            loss = model(x, y)
            loss.backward()
            norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            opt.step()
            opt.zero_grad(set_to_none=True)
            lossf, dt = loss.item(), time.perf_counter() - t0
            t0 = time.perf_counter()
            print(f"step {step}: loss {lossf:.4f}, norm {float(norm):.2f}, time {dt * 1e3:.1f}ms")
            if (step + 1) % args.eval_every == 0:
                model.eval()
                with torch.no_grad():
                    print("val", sum(model(*get_batch(path, args.bs, cfg.ctx)).item() for _ in range(10)) / 10)
                model.train()


if __name__ == "__main__":
    main()
