"""Answer generation with a small decoder and a preallocated key/value cache; reports distinct-n."""
import argparse
import json
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


class Cache:
    def __init__(self, layers, batch, heads, max_len, hd):
        self.k = torch.zeros(layers, batch, heads, max_len, hd)
        self.v = torch.zeros(layers, batch, heads, max_len, hd)
        self.len = 0

    def put(self, layer, k, v):
        end = self.len + k.size(2)
        self.k[layer, :, :, self.len : end] = k
        self.v[layer, :, :, self.len : end] = v
        return self.k[layer, :, :, :end], self.v[layer, :, :, :end]


class Layer(nn.Module):
    def __init__(self, d, heads, idx):
        super().__init__()
        self.idx, self.heads = idx, heads
        self.n1, self.n2 = nn.LayerNorm(d), nn.LayerNorm(d)
        self.qkv, self.o = nn.Linear(d, 3 * d), nn.Linear(d, d)
        self.up, self.down = nn.Linear(d, 4 * d), nn.Linear(4 * d, d)

    def forward(self, x, cache):
        b, t, d = x.shape
        q, k, v = self.qkv(self.n1(x)).view(b, t, 3, self.heads, -1).permute(2, 0, 3, 1, 4)
        k, v = cache.put(self.idx, k, v)
        a = F.scaled_dot_product_attention(q, k, v, is_causal=t > 1)
        x = x + self.o(a.transpose(1, 2).reshape(b, t, d))
        return x + self.down(F.gelu(self.up(self.n2(x))))


class Decoder(nn.Module):
    def __init__(self, vocab=4000, d=256, heads=4, layers=4, max_len=128):
        super().__init__()
        self.max_len, self.heads, self.hd, self.n = max_len, heads, d // heads, layers
        self.tok, self.pos = nn.Embedding(vocab, d), nn.Embedding(max_len, d)
        self.layers = nn.ModuleList(Layer(d, heads, i) for i in range(layers))
        self.norm, self.head = nn.LayerNorm(d), nn.Linear(d, vocab, bias=False)

    def forward(self, ids, cache):
        p = torch.arange(cache.len, cache.len + ids.size(1))
        x = self.tok(ids) + self.pos(p)
        for layer in self.layers:
            x = layer(x, cache)
        cache.len += ids.size(1)
        return self.head(self.norm(x[:, -1]))


@torch.inference_mode()
def generate(model, prompt, n, temperature, top_k):
    cache = Cache(model.n, len(prompt), model.heads, model.max_len, model.hd)
    out, ids = [], prompt
    for _ in range(n):
        logits = model(ids, cache) / temperature
        v, i = logits.topk(top_k, dim=-1)
        ids = i.gather(1, torch.multinomial(v.softmax(-1), 1))
        out.append(ids)
    return torch.cat(out, 1)


def distinct(rows, n):
    grams = [tuple(r[i : i + n]) for r in rows for i in range(len(r) - n + 1)]
    return len(set(grams)) / max(1, len(grams))


if __name__ == "__main__":
    ap = argparse.ArgumentParser()
    ap.add_argument("--requests", type=int, default=50)
    ap.add_argument("--batch", type=int, default=8)
    ap.add_argument("--new-tokens", type=int, default=80)
    ap.add_argument("--temperature", type=float, default=0.8)
    ap.add_argument("--top-k", type=int, default=40)
    ap.add_argument("--out", default="answers.jsonl")
    a = ap.parse_args()
    torch.manual_seed(0)
    model = Decoder().eval()
    times = []
    with open(a.out, "w") as f:
        for r in range(a.requests):
            prompt = torch.randint(0, 4000, (a.batch, 24))
            t0 = time.perf_counter()
            rows = generate(model, prompt, a.new_tokens, a.temperature, a.top_k).tolist()
            times.append(time.perf_counter() - t0)
            f.write(json.dumps({"request": r, "answers": rows, "d1": distinct(rows, 1), "d2": distinct(rows, 2)}) + "\n")
            if r % 10 == 0:
                print(f"request {r}: {1e3 * times[-1] / a.new_tokens:.2f} ms/token")
    times.sort()
    print(f"p50 {times[len(times) // 2]:.3f}s p90 {times[int(0.9 * len(times))]:.3f}s")
