import argparse
import json
import time

import torch
from torch import nn
from torch.nn import functional as F
from torch.utils.data import DataLoader

OUTCOMES = ["sound", "dunted", "bloated", "underfired", "crazed"]
CHANNELS = 14            # nine thermocouples, two gas valves, damper, draught, oxygen


def load_firings(path):
    with open(path) as lines:
        records = [json.loads(line) for line in lines]
    return [(record["trace"], record["outcome"]) for record in records]


def column_scale(firings):
    rows = torch.tensor([row for trace, _ in firings[:300] for row in trace])
    return rows.mean(0).tolist(), rows.std(0).tolist()


class KilnReader(nn.Module):
    def __init__(self, mean, std, hidden=56):
        super().__init__()
        self.register_buffer("mean", torch.tensor(mean))
        self.register_buffer("std", torch.tensor(std))
        self.embed = nn.Sequential(nn.Linear(CHANNELS, 48), nn.GELU())
        self.gru = nn.GRU(48, hidden, batch_first=True, bidirectional=True)
        self.norm = nn.LayerNorm(2 * hidden)
        self.outcome = nn.Linear(2 * hidden, len(OUTCOMES))
        self.peak = nn.Linear(2 * hidden, 1)

    def forward(self, trace):
        x = self.embed((trace - self.mean) / self.std)
        states, _ = self.gru(x)
        summary = self.norm(states[:, -1])
        return self.outcome(summary), self.peak(summary).squeeze(-1)


def collate(batch):
    traces = torch.tensor([rows for rows, _ in batch], dtype=torch.float32)
    labels = torch.tensor([label for _, label in batch])
    return traces, labels


def losses(model, traces, labels):
    logits, peak = model(traces)
    reached = traces[:, :, :9].mean(2).amax(1) / 1000.0
    return F.cross_entropy(logits, labels), F.smooth_l1_loss(peak, reached), logits


@torch.no_grad()
def validate(model, loader):
    model.eval()
    right = seen = 0
    for traces, labels in loader:
        logits = losses(model, traces, labels)[2]
        right += (logits.argmax(1) == labels).sum().item()
        seen += len(labels)
    model.train()
    return right / seen


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--epochs", type=int, default=50)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--lr", type=float, default=2e-3)
    parser.add_argument("--firings", default="firings.jsonl")
    parser.add_argument("--seed", type=int, default=5)
    args = parser.parse_args()
    torch.manual_seed(args.seed)

    firings = load_firings(args.firings)
    train, held = firings[: int(0.85 * len(firings))], firings[int(0.85 * len(firings)):]
    loader = DataLoader(train, batch_size=args.batch, shuffle=True, drop_last=True, collate_fn=collate)
    held_loader = DataLoader(held, batch_size=100, collate_fn=collate)
    model = KilnReader(*column_scale(train))
    optimizer = torch.optim.RMSprop(model.parameters(), lr=args.lr, alpha=0.95)
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, args.epochs * len(loader))

    for epoch in range(1, args.epochs + 1):
        begun, total = time.time(), 0.0
        for traces, labels in loader:
            kind_loss, peak_loss, _ = losses(model, traces, labels)
            loss = kind_loss + 0.5 * peak_loss
            optimizer.zero_grad()
            loss.backward()
            nn.utils.clip_grad_norm_(model.parameters(), 2.0)
            optimizer.step()
            scheduler.step()
            total += loss.item()
        line = f"epoch {epoch:2d}  loss {total / len(loader):.4f}  {time.time() - begun:.1f}s"
        if epoch % 4 == 0:
            line += f"  held accuracy {validate(model, held_loader):.3f}"
            torch.save({"model": model.state_dict(), "epoch": epoch}, "kiln.pt")
        print(line)


if __name__ == "__main__":
    main()
