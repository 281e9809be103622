import argparse
import gc
import math
import time

import torch
import torch.nn as nn
import torch.nn.functional as F

ALPHABET = "abcdefghijklmnopqrstuvwxyz .,\n"


class Block(nn.Module):
    def __init__(self, d, h):
        super().__init__()
        self.h = h
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = (z.view(b, t, self.h, -1).transpose(1, 2) for z in self.qkv(self.ln1(x)).chunk(3, -1))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(y.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class CharLM(nn.Module):
    def __init__(self, vocab, d=64, h=4, layers=6, ctx=64):
        super().__init__()
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(ctx, d)
        self.blocks = nn.Sequential(*[Block(d, h) for _ in range(layers)])
        self.ln = nn.LayerNorm(d)

    def forward(self, ids):
        x = self.tok(ids) + self.pos.weight[: ids.size(1)]
        return self.ln(self.blocks(x)) @ self.tok.weight.t()


def get_text(n, seed=0):
    g = torch.Generator().manual_seed(seed)
    steps = torch.randint(1, 4, (n,), generator=g)
    return steps.cumsum(0) % len(ALPHABET)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=200)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--ctx", type=int, default=64)
    parser.add_argument("--lr", type=float, default=1e-3)
    parser.add_argument("--sample", action="store_true")
    args = parser.parse_args()
    torch.manual_seed(1337)
    torch.autograd.set_detect_anomaly(True)
    text = get_text(200000)
    model = CharLM(len(ALPHABET), ctx=args.ctx)
    decay = [p for p in model.parameters() if p.dim() > 1]
    rest = [p for p in model.parameters() if p.dim() <= 1]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": rest, "weight_decay": 0.0}], lr=args.lr)
    t0 = time.time()
    for step in range(args.steps):
        lr = args.lr * min(1, (step + 1) / 20) * 0.5 * (1 + math.cos(math.pi * step / args.steps))
        for group in opt.param_groups:
            group["lr"] = lr
        i = torch.randint(0, len(text) - args.ctx - 1, (args.batch, 1)) + torch.arange(args.ctx + 1)
        chunk = text[i]
        logits = model(chunk[:, :-1])
        loss = F.cross_entropy(logits.flatten(0, 1), chunk[:, 1:].flatten())
        opt.zero_grad()
        loss.backward()
        opt.step()
        if step % 10 == 9:
            gc.collect()
        if step % 40 == 0:
            print(f"step {step} loss {loss.item():.3f} lr {lr:.2e} {time.time() - t0:.1f}s")
    if args.sample:
        ids = torch.zeros(1, 1, dtype=torch.long)
        for _ in range(100):
            p = model(ids[:, -args.ctx:])[:, -1].softmax(-1)
            ids = torch.cat([ids, torch.multinomial(p, 1)], 1)
        print("".join(ALPHABET[i] for i in ids[0]))


if __name__ == "__main__":
    main()
