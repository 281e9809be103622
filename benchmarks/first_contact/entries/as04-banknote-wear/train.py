"""Fitness of returned banknotes from the sorter's 44 sensor readings and 8 codes: a feature tokenizer and a small transformer."""
import argparse
from dataclasses import dataclass

import torch
import torch.nn as nn
import torch.nn.functional as F


@dataclass
class Settings:
    notes: int = 24000
    numeric: int = 44
    categories: tuple = (5, 7, 12, 3, 9, 4, 6, 20)
    dim: int = 32
    heads: int = 8
    depth: int = 2
    batch: int = 32
    epochs: int = 2
    lr: float = 1e-3
    smoothing: float = 0.05


def make_notes(s: Settings):
    g = torch.Generator().manual_seed(1694)
    x = torch.randn(s.notes, s.numeric, generator=g)
    c = torch.stack([torch.randint(0, n, (s.notes,), generator=g) for n in s.categories], 1)
    soil = x[:, :6].sum(1) + x[:, 6] * x[:, 7] + 0.4 * (c[:, 3] == 1) * x[:, 8]
    tear = (x[:, 12] * x[:, 13]).abs() + 0.1 * c[:, 2]
    score = soil + tear + 0.5 * torch.randn(s.notes, generator=g)
    y = torch.bucketize(score, torch.quantile(score, torch.tensor([0.25, 0.5, 0.8])))
    return x, c, y


class Tokenizer(nn.Module):
    """One token for each reading, one for each code, one for the answer."""

    def __init__(self, s: Settings):
        super().__init__()
        self.numeric = nn.ModuleList([nn.Linear(1, s.dim) for _ in range(s.numeric)])
        self.codes = nn.ModuleList([nn.Embedding(n, s.dim) for n in s.categories])
        self.answer = nn.Parameter(0.02 * torch.randn(1, 1, s.dim))

    def forward(self, x, c):
        tokens = [self.answer.expand(len(x), 1, -1)]
        for i, layer in enumerate(self.numeric):
            tokens.append(layer(x[:, i:i + 1]).unsqueeze(1))
        for i, table in enumerate(self.codes):
            tokens.append(table(c[:, i]).unsqueeze(1))
        return torch.cat(tokens, dim=1)


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attention = nn.MultiheadAttention(dim, heads, batch_first=True)
        self.feed = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, t):
        n = self.norm1(t)
        mixed, weights = self.attention(n, n, n)
        t = t + mixed
        return t + self.feed(self.norm2(t))


class NoteFormer(nn.Module):
    def __init__(self, s: Settings, classes=4):
        super().__init__()
        self.tokens = Tokenizer(s)
        self.layers = nn.ModuleList([Layer(s.dim, s.heads) for _ in range(s.depth)])
        self.head = nn.Sequential(nn.LayerNorm(s.dim), nn.Linear(s.dim, classes))

    def forward(self, x, c):
        t = self.tokens(x, c)
        for layer in self.layers:
            t = layer(t)
        return self.head(t[:, 0])


@torch.inference_mode()
def accuracy(model, x, c, y):
    model.eval()
    right = sum((model(a, b).argmax(1) == t).sum() for a, b, t in zip(x.split(250), c.split(250), y.split(250)))
    model.train()
    return right.item() / len(y)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=Settings.epochs)
    parser.add_argument("--batch", type=int, default=Settings.batch)
    options = parser.parse_args()
    s = Settings(epochs=options.epochs, batch=options.batch)
    torch.manual_seed(0)
    x, c, y = make_notes(s)
    cut = s.notes - 1500
    model = NoteFormer(s)
    decay = [p for p in model.parameters() if p.ndim > 1]
    plain = [p for p in model.parameters() if p.ndim <= 1]
    optimizer = torch.optim.AdamW([{"params": decay, "weight_decay": 1e-4}, {"params": plain, "weight_decay": 0.0}], lr=s.lr, fused=True)
    for epoch in range(s.epochs):
        order = torch.randperm(cut)
        seen = torch.zeros(())
        for start in range(0, cut - s.batch + 1, s.batch):
            rows = order[start:start + s.batch]
            logits = model(x[rows], c[rows])
            loss = F.cross_entropy(logits, y[rows], label_smoothing=s.smoothing)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            seen += loss.detach()
        print(f"epoch {epoch}: loss {seen.item() / (cut // s.batch):.4f}, held-out accuracy {accuracy(model, x[cut:], c[cut:], y[cut:]):.3f}")
    torch.save(model.state_dict(), "noteformer.pt")


if __name__ == "__main__":
    main()
