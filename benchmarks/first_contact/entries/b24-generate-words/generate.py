"""Sample names from a small causal transformer (weights are random if no checkpoint is given)."""
import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Block(nn.Module):
    def __init__(self, d, heads):
        super().__init__()
        self.heads = heads
        self.ln1, self.ln2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.proj = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.mlp = nn.Sequential(nn.Linear(d, 4 * d), nn.GELU(), nn.Linear(4 * d, d))

    def forward(self, x):
        b, t, d = x.shape
        q, k, v = self.qkv(self.ln1(x)).view(b, t, 3, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        x = x + self.proj(a.transpose(1, 2).reshape(b, t, d))
        return x + self.mlp(self.ln2(x))


class WordLM(nn.Module):
    def __init__(self, vocab, d=96, heads=4, layers=3, block=48):
        super().__init__()
        self.block = block
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(block, d)
        self.blocks = nn.ModuleList(Block(d, heads) for _ in range(layers))
        self.ln = nn.LayerNorm(d)
        self.head = nn.Linear(d, vocab, bias=False)

    def forward(self, idx):
        x = self.tok(idx) + self.pos(torch.arange(idx.size(1)))
        for blk in self.blocks:
            x = blk(x)
        return self.head(self.ln(x))


def top_k_filter(logits, k):
    kth = logits.topk(k, dim=-1).values[..., -1:]
    return logits.masked_fill(logits < kth, float("-inf"))


@torch.no_grad()
def generate(model, prompt, n_new, temperature, k, generator):
    idx = prompt
    for _ in range(n_new):
        ctx = idx[:, -model.block :]
        logits = model(ctx)[:, -1] / temperature
        probs = F.softmax(top_k_filter(logits, k), dim=-1)
        nxt = torch.multinomial(probs, 1, generator=generator)
        idx = torch.cat([idx, nxt], dim=1)
    return idx


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--checkpoint")
    ap.add_argument("--vocab", type=int, default=16000)
    ap.add_argument("--batches", type=int, default=16)
    ap.add_argument("--batch-size", type=int, default=8)
    ap.add_argument("--tokens", type=int, default=64)
    ap.add_argument("--temperature", type=float, default=0.9)
    ap.add_argument("--top-k", type=int, default=50)
    ap.add_argument("--out", default="samples.txt")
    a = ap.parse_args()
    torch.manual_seed(0)
    model = WordLM(a.vocab)
    if a.checkpoint:
        model.load_state_dict(torch.load(a.checkpoint, map_location="cpu"))
    model.eval()
    gen = torch.Generator().manual_seed(1)
    with open(a.out, "w") as f:
        for b in range(a.batches):
            t0 = time.perf_counter()
            prompt = torch.randint(0, a.vocab, (a.batch_size, 16), generator=gen)
            out = generate(model, prompt, a.tokens, a.temperature, a.top_k, gen)
            for row in out.tolist():
                f.write(" ".join(f"w{t}" for t in row) + "\n")
            dt = time.perf_counter() - t0
            print(f"batch {b:2d}: {a.batch_size * a.tokens / dt:.0f} tokens/s")


if __name__ == "__main__":
    main()
