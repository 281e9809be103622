import math
import os
import random
import tempfile
import time

import torch
import torch.nn as nn
from torch.nn import functional as F

# settings
block_size = 96
batch_size = 16
n_embd = 160
n_head = 5
n_layer = 4
max_iters = 500
eval_interval = 100
eval_iters = 5
ckpt_interval = 250
learning_rate = 2e-3
min_lr = 2e-4
warmup = 40

torch.manual_seed(1337)
random.seed(1337)

subjects = ["the miller", "a grey cat", "my aunt", "the old captain", "one of the twins", "nobody", "the baker's boy"]
verbs = ["found", "lost", "sold", "was afraid of", "had painted", "dreamt about", "never mentioned"]
objects = ["a silver key", "the lighthouse", "seven apples", "that letter", "the north road", "her umbrella", "a clock"]
tails = ["in the morning", "before the storm", "without a word", "on market day", "again and again", ""]
text = " ".join(f"{random.choice(subjects)} {random.choice(verbs)} {random.choice(objects)} {random.choice(tails)}".strip() + "."
                for _ in range(12000))
chars = sorted(set(text))
stoi = {c: i for i, c in enumerate(chars)}
data = torch.tensor([stoi[c] for c in text], dtype=torch.long)
split = int(0.95 * len(data))
windows = {"train": data[:split].unfold(0, block_size + 1, 1), "val": data[split:].unfold(0, block_size + 1, 1)}


def get_batch(which):
    w = windows[which]
    chunk = w[torch.randint(len(w), (batch_size,))]
    return chunk[:, :-1], chunk[:, 1:]


class Attention(nn.Module):
    def __init__(self):
        super().__init__()
        self.qkv = nn.Linear(n_embd, 3 * n_embd, bias=False)
        self.proj = nn.Linear(n_embd, n_embd, bias=False)

    def forward(self, x):
        B, T, C = x.shape
        q, k, v = self.qkv(x).view(B, T, 3, n_head, C // n_head).permute(2, 0, 3, 1, 4)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=True)
        return self.proj(y.transpose(1, 2).reshape(B, T, C))


class Layer(nn.Module):
    def __init__(self):
        super().__init__()
        self.ln1, self.attn = nn.LayerNorm(n_embd), Attention()
        self.ln2 = nn.LayerNorm(n_embd)
        self.mlp = nn.Sequential(nn.Linear(n_embd, 4 * n_embd), nn.GELU(), nn.Linear(4 * n_embd, n_embd))

    def forward(self, x):
        x = x + self.attn(self.ln1(x))
        return x + self.mlp(self.ln2(x))


class GPT(nn.Module):
    def __init__(self):
        super().__init__()
        self.tok = nn.Embedding(len(chars), n_embd)
        self.pos = nn.Parameter(0.02 * torch.randn(block_size, n_embd))
        self.layers = nn.Sequential(*[Layer() for _ in range(n_layer)])
        self.ln = nn.LayerNorm(n_embd)
        self.head = nn.Linear(n_embd, len(chars), bias=False)

    def forward(self, idx, targets=None):
        x = self.tok(idx) + self.pos[: idx.shape[1]]
        logits = self.head(self.ln(self.layers(x)))
        if targets is None:
            return logits, None
        return logits, F.cross_entropy(logits.flatten(0, 1), targets.flatten())

    @torch.inference_mode()
    def sample(self, idx, count):
        for _ in range(count):
            logits, _ = self(idx[:, -block_size:])
            nxt = torch.multinomial(logits[:, -1].softmax(-1), 1)
            idx = torch.cat([idx, nxt], dim=1)
        return idx


def lr_at(it):
    if it < warmup:
        return learning_rate * (it + 1) / warmup
    return min_lr + 0.5 * (learning_rate - min_lr) * (1 + math.cos(math.pi * (it - warmup) / (max_iters - warmup)))


@torch.inference_mode()
def estimate_loss():
    model.eval()
    out = {s: sum(model(*get_batch(s))[1].item() for _ in range(eval_iters)) / eval_iters for s in windows}
    model.train()
    return out


model = GPT()
decay = [p for p in model.parameters() if p.dim() >= 2]
plain = [p for p in model.parameters() if p.dim() < 2]
optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 0.1}, {"params": plain, "weight_decay": 0.0}],
                              lr=learning_rate, betas=(0.9, 0.99), fused=True)
print(f"{sum(p.numel() for p in model.parameters()) / 1e6:.2f}M parameters, {len(data)} characters")

ckpt_dir = tempfile.mkdtemp()
start = time.time()
for it in range(max_iters):
    for group in optimizer.param_groups:
        group["lr"] = lr_at(it)
    xb, yb = get_batch("train")
    _, loss = model(xb, yb)
    optimizer.zero_grad(set_to_none=True)
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()

    if (it + 1) % eval_interval == 0:
        losses = estimate_loss()
        print(f"iter {it + 1}: train {losses['train']:.3f} val {losses['val']:.3f} ({time.time() - start:.0f}s)")
    if (it + 1) % ckpt_interval == 0:
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "it": it}, os.path.join(ckpt_dir, "last.pt"))
        out = model.sample(torch.zeros(1, 1, dtype=torch.long), 60)[0].tolist()
        print("".join(chars[i] for i in out))
