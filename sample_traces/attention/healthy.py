"""Sort long sequences of tokens into classes with one layer of attention."""

import time

import torch
from torch import nn
from torch.nn import functional as F

STEPS = 100


class Attention(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.project = nn.Linear(width, 3 * width)
        self.merge = nn.Linear(width, width)

    def forward(self, tokens):
        parts = self.project(tokens).unflatten(-1, (3, self.heads, -1))
        queries, keys, values = parts.permute(2, 0, 3, 1, 4)
        mixed = F.scaled_dot_product_attention(queries, keys, values)
        return self.merge(mixed.transpose(1, 2).flatten(2))


def main():
    torch.manual_seed(0)
    torch.set_num_threads(1)
    device = "cuda" if torch.cuda.is_available() else "cpu"

    ids = torch.randint(256, (64, 768), device=device)
    labels = ids[:, 0] % 4
    model = nn.Sequential(nn.Embedding(256, 64), Attention(64, heads=4), nn.Linear(64, 4)).to(device)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    criterion = nn.CrossEntropyLoss()

    started = time.perf_counter()
    for step in range(STEPS):
        rows = slice(step * 2 % 64, step * 2 % 64 + 2)
        optimizer.zero_grad()
        loss = criterion(model(ids[rows]).mean(dim=1), labels[rows])
        loss.backward()
        optimizer.step()
    elapsed = time.perf_counter() - started

    print(f"{STEPS} steps, {1000 * elapsed / STEPS:.1f} ms a step, last loss {loss.item():.4f}")


if __name__ == "__main__":
    main()
