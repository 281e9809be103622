"""FT-Transformer on a synthetic insurance table (mixed columns, binary target)."""
import time

import numpy as np
import torch
from torch import nn
from torch.nn import functional as F

CARDINALITIES = [12, 7, 40, 5, 90, 3]
NUMERIC = 11


def load_table(rows, seed=5):
    rng = np.random.default_rng(seed)
    numeric = rng.normal(size=(rows, NUMERIC))
    categorical = np.stack([rng.integers(0, c, rows) for c in CARDINALITIES], 1)
    effects = [rng.normal(size=c) for c in CARDINALITIES]
    score = sum(e[categorical[:, i]] for i, e in enumerate(effects)) * 0.6
    score += numeric[:, 0] * effects[4][categorical[:, 4]] + np.sin(2 * numeric[:, 1]) - 0.7 * numeric[:, 2] * numeric[:, 3]
    target = score + rng.logistic(size=rows) * 0.5 > 0
    offsets = np.cumsum([0] + CARDINALITIES[:-1])
    numeric = (numeric - numeric.mean(0)) / numeric.std(0)
    return (torch.from_numpy(numeric).float(), torch.from_numpy(categorical + offsets), torch.from_numpy(target).float())


class Layer(nn.Module):
    def __init__(self, dim, heads):
        super().__init__()
        self.heads = heads
        self.norm_a, self.norm_f = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.query, self.key_value, self.merge = nn.Linear(dim, dim), nn.Linear(dim, 2 * dim), nn.Linear(dim, dim)
        self.ff = nn.Sequential(nn.Linear(dim, 2 * dim), nn.ReLU(), nn.Linear(2 * dim, dim))

    def forward(self, x, queries=None):
        n, t, d = x.shape
        h = self.norm_a(x)
        k, v = self.key_value(h).view(n, t, 2, self.heads, d // self.heads).permute(2, 0, 3, 1, 4)
        x = x[:, :queries]
        q = self.query(h[:, :queries]).view(n, x.shape[1], self.heads, d // self.heads).transpose(1, 2)
        a = F.scaled_dot_product_attention(q, k, v)
        x = x + self.merge(a.transpose(1, 2).reshape(x.shape))
        return x + self.ff(self.norm_f(x))


class FTTransformer(nn.Module):
    def __init__(self, dim=96, heads=4, depth=3):
        super().__init__()
        self.scale = nn.Parameter(torch.randn(NUMERIC, dim) * 0.1)
        self.shift = nn.Parameter(torch.randn(NUMERIC, dim) * 0.1)
        self.category = nn.Embedding(sum(CARDINALITIES), dim)
        self.cls = nn.Parameter(torch.zeros(1, 1, dim))
        self.layers = nn.ModuleList(Layer(dim, heads) for _ in range(depth))
        self.head = nn.Sequential(nn.LayerNorm(dim), nn.Linear(dim, 1))

    def forward(self, numeric, categorical):
        tokens = torch.cat([self.cls.expand(len(numeric), -1, -1),
                            torch.addcmul(self.shift, numeric.unsqueeze(-1), self.scale),
                            self.category(categorical)], dim=1)
        for layer in self.layers[:-1]:
            tokens = layer(tokens)
        return self.head(self.layers[-1](tokens, queries=1)[:, 0]).squeeze(-1)


def auc(scores, labels):
    rank = torch.empty_like(scores)
    rank[scores.argsort()] = torch.arange(1, len(scores) + 1, dtype=scores.dtype)
    positive = labels.sum()
    return ((rank[labels > 0].sum() - positive * (positive + 1) / 2) / (positive * (len(labels) - positive))).item()


def evaluate(model, numeric, categorical, target):
    model.eval()
    with torch.inference_mode():
        scores = torch.cat([model(n, c) for n, c in zip(numeric.split(256), categorical.split(256))])
    model.train()
    return auc(scores, target)


def main(epochs=14, batch=128, valid=512):
    torch.manual_seed(0)
    numeric, categorical, target = load_table(14000)
    held = [t[-valid:] for t in (numeric, categorical, target)]
    numeric, categorical, target = (t[:-valid] for t in (numeric, categorical, target))
    model = FTTransformer()
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3, weight_decay=1e-3, fused=True)
    for epoch in range(epochs):
        start, losses = time.time(), []
        for i in torch.randperm(len(target)).split(batch):
            loss = F.binary_cross_entropy_with_logits(model(numeric[i], categorical[i]), target[i])
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
            losses.append(loss.detach())
        print(f"epoch {epoch}  loss {torch.stack(losses).mean():.4f}  AUC {evaluate(model, *held):.4f}  {time.time() - start:.1f}s")


if __name__ == "__main__":
    main()
