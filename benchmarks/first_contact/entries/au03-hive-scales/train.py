import argparse
import time

import torch
import torch.nn as nn
from torch.nn.utils.parametrizations import weight_norm
from torch.utils.data import DataLoader

from scales import WEATHER, Windows, season

QUANTILES = torch.tensor([0.1, 0.5, 0.9])


class Hive(nn.Module):
    """encoder over the past, decoder step by step through the weather forecast"""

    def __init__(self, seen, coming, hidden):
        super().__init__()
        self.encoder = nn.GRU(seen, hidden, batch_first=True)
        self.bridge = nn.Linear(hidden, hidden)
        self.mix = weight_norm(nn.Linear(coming + 1, hidden))
        self.cell = nn.GRUCell(hidden, hidden)
        self.inner = weight_norm(nn.Linear(hidden, 2 * hidden))
        self.outer = weight_norm(nn.Linear(2 * hidden, hidden))
        self.out = nn.Linear(hidden, len(QUANTILES))

    def forward(self, past, coming):
        _, h = self.encoder(past)
        h = torch.tanh(self.bridge(h[0]))
        level = past.new_zeros(len(past), 1)
        steps = []
        for k in range(coming.shape[1]):
            x = torch.relu(self.mix(torch.cat([coming[:, k], level], 1)))
            h = self.cell(x, h)
            z = h + self.outer(torch.relu(self.inner(h)))
            q = level + self.out(z)
            level = q[:, 1:2]
            steps.append(q)
        return torch.stack(steps, 1)


def pinball(q, y):
    miss = y[..., None] - q
    return torch.maximum(QUANTILES * miss, (QUANTILES - 1) * miss).mean()


@torch.no_grad()
def evaluate(model, loader):
    model.eval()
    loss, inside, count = 0.0, 0.0, 0
    for past, coming, y in loader:
        q = model(past, coming)
        loss += pinball(q, y).item() * len(y)
        inside += ((y >= q[..., 0]) & (y <= q[..., 2])).float().mean().item() * len(y)
        count += len(y)
    model.train()
    return loss / count, inside / count


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--hidden", type=int, default=96)
    p.add_argument("--batch-size", type=int, default=16)
    p.add_argument("--epochs", type=int, default=5)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--seed", type=int, default=3)
    args = p.parse_args()
    torch.manual_seed(args.seed)

    table = season()
    cut = table["hour"] < 115 * 24
    train = DataLoader(Windows(table[cut].reset_index(drop=True)), args.batch_size, shuffle=True, drop_last=True)
    valid = DataLoader(Windows(table[~cut].reset_index(drop=True), stride=24), 128)
    model = Hive(8, len(WEATHER) + 2, args.hidden)
    optimizer = torch.optim.AdamW(model.parameters(), args.lr, weight_decay=1e-3, fused=True)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(train))
    print(len(train), "steps an epoch,", sum(p.numel() for p in model.parameters()), "parameters")

    best = float("inf")
    for epoch in range(args.epochs):
        start, running = time.time(), 0.0
        for past, coming, y in train:
            q = model(past, coming)
            loss = pinball(q, y)
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 1.0)
            optimizer.step()
            scheduler.step()
            running += loss.item()
        score, inside = evaluate(model, valid)
        if score < best:
            best = score
            torch.save(model.state_dict(), "hive.pt")
        print(f"epoch {epoch} train {running / len(train):.4f} valid {score:.4f} inside {inside:.2f} {time.time() - start:.1f} s")


if __name__ == "__main__":
    main()
