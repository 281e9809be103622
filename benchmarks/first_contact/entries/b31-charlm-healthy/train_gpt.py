import math
import time

import torch
import torch.nn as nn
from torch.nn import functional as F

from data import CharData, make_corpus

# config
block_size, batch_size = 64, 24
n_layer, n_head, n_embd, dropout = 3, 4, 96, 0.1
max_iters, eval_interval, eval_iters = 450, 150, 6
lr, min_lr, warmup = 1e-3, 1e-4, 40
grad_clip, beta2, weight_decay = 1.0, 0.99, 0.1
log_interval = 10


class CausalSelfAttention(nn.Module):
    def __init__(self):
        super().__init__()
        self.c_attn = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.c_proj = nn.Linear(n_embd, n_embd, bias=False)
        self.drop = nn.Dropout(dropout)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = (z.view(B, T, n_head, C // n_head).transpose(1, 2) for z in self.c_attn(x).split(C, dim=2))
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.drop(self.c_proj(y.transpose(1, 2).reshape(B, T, C)))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln_1, self.ln_2 = nn.LayerNorm(n_embd), nn.LayerNorm(n_embd)
        self.attn = CausalSelfAttention()
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd), nn.Dropout(dropout))

    def forward(self, x):
        x = x + self.attn(self.ln_1(x))
        return x + self.mlp(self.ln_2(x))


class GPT(nn.Module):
    def __init__(self, vocab):
        super().__init__()
        self.wte, self.wpe = nn.Embedding(vocab, n_embd), nn.Embedding(block_size, n_embd)
        self.h = nn.ModuleList(Block() for _ in range(n_layer))
        self.ln_f = nn.LayerNorm(n_embd)
        self.lm_head = nn.Linear(n_embd, vocab, bias=False)
        self.wte.weight = self.lm_head.weight
        self.apply(lambda m: nn.init.normal_(m.weight, std=0.02) if isinstance(m, (nn.Linear, nn.Embedding)) else None)

    def forward(self, idx, targets=None):
        x = self.wte(idx) + self.wpe.weight[: idx.size(1)]
        for block in self.h:
            x = block(x)
        logits = self.lm_head(self.ln_f(x))
        loss = None if targets is None else F.cross_entropy(logits.flatten(0, 1), targets.flatten())
        return logits, loss


def get_lr(it):
    if it < warmup:
        return lr * (it + 1) / warmup
    return min_lr + 0.5 * (lr - min_lr) * (1 + math.cos(math.pi * (it - warmup) / (max_iters - warmup)))


@torch.no_grad()
def estimate_loss(model, data):
    model.eval()
    out = {s: sum(model(*data.get(s))[1].item() for _ in range(eval_iters)) / eval_iters for s in ("train", "val")}
    model.train()
    return out


def main():
    torch.manual_seed(1337)
    data = CharData(make_corpus(200_000), block_size, batch_size)
    model = GPT(len(data.itos))
    decay = [p for p in model.parameters() if p.dim() >= 2]
    rest = [p for p in model.parameters() if p.dim() < 2]
    opt = torch.optim.AdamW([{"params": decay, "weight_decay": weight_decay}, {"params": rest, "weight_decay": 0.0}], lr=lr, betas=(0.9, beta2))
    best, t0 = float("inf"), time.time()
    for it in range(max_iters + 1):
        for group in opt.param_groups:
            group["lr"] = get_lr(it)
        if it % eval_interval == 0:
            losses = estimate_loss(model, data)
            print(f"step {it}: train {losses['train']:.4f} val {losses['val']:.4f}")
            if losses["val"] < best:
                best = losses["val"]
                torch.save({"model": model.state_dict(), "it": it}, "ckpt.pt")
        x, y = data.get("train")
        _, loss = model(x, y)
        opt.zero_grad(set_to_none=True)
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), grad_clip)
        opt.step()
        if it % log_interval == 0:
            print(f"iter {it} loss {loss.item():.4f} |g| {norm.item():.2f} {1e3 * (time.time() - t0) / (it + 1):.1f} ms/it")


if __name__ == "__main__":
    main()
