import argparse
import sqlite3
import time

import torch
from torch import nn

from basin import eruptions, windows
from shape import soft_dtw


class Forecaster(nn.Module):
    """Reads the past level with dilated convolutions and a GRU, and gives the coming steps as correction
    of the last level seen."""

    def __init__(self, ahead, width, dropout):
        super().__init__()
        self.ahead = ahead
        self.local = nn.ModuleList(
            nn.Conv1d(1 if number == 0 else width, width, 3, padding=2 ** number, dilation=2 ** number) for number in range(4))
        self.memory = nn.GRU(width, width, batch_first=True)
        self.head = nn.Sequential(nn.Linear(2 * width, 2 * width), nn.ReLU(), nn.Dropout(dropout), nn.Linear(2 * width, ahead))

    def forward(self, past):
        x = past.unsqueeze(1)
        for layer in self.local:
            y = torch.relu(layer(x))
            x = y + x if y.shape == x.shape else y
        states, last = self.memory(x.transpose(1, 2))
        return past[:, -1:] + self.head(torch.cat([last[-1], states.mean(1)], 1))


class Diary:
    def __init__(self, path):
        self.base = sqlite3.connect(path)
        self.base.execute("CREATE TABLE IF NOT EXISTS steps (run TEXT, step INTEGER, name TEXT, value REAL)")
        self.run = time.strftime("%Y%m%d-%H%M%S")

    def write(self, step, **values):
        for name, value in values.items():
            self.base.execute("INSERT INTO steps VALUES (?, ?, ?, ?)", (self.run, step, name, value))
            self.base.commit()


def objective(forecast, coming, alpha, gamma):
    shape = soft_dtw(forecast, coming, gamma).mean() / coming.size(1)
    point = (forecast - coming).abs().mean()
    return alpha * shape + (1 - alpha) * point, point


@torch.no_grad()
def validate(model, past, coming):
    model.eval()
    forecast = torch.cat([model(part) for part in past.split(512)])
    model.train()
    return (forecast - coming).abs().mean().item()


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--batch", type=int, default=64)
    parser.add_argument("--past", type=int, default=48)
    parser.add_argument("--ahead", type=int, default=8)
    parser.add_argument("--width", type=int, default=64)
    parser.add_argument("--alpha", type=float, default=0.6)
    parser.add_argument("--gamma", type=float, default=0.05)
    parser.add_argument("--lr", type=float, default=1.5e-3)
    parser.add_argument("--dropout", type=float, default=0.1)
    parser.add_argument("--diary", default="geyser.db")
    args = parser.parse_args()

    torch.manual_seed(11)
    generator = torch.Generator().manual_seed(4)
    past, coming = windows(eruptions(48, 1600, generator), args.past, args.ahead, 8)
    held_past, held_coming = windows(eruptions(8, 1600, generator), args.past, args.ahead, 8)
    model = Forecaster(args.ahead, args.width, args.dropout)
    optimizer = torch.optim.Adam(model.parameters(), lr=args.lr, fused=True)
    scheduler = torch.optim.lr_scheduler.OneCycleLR(optimizer, args.lr, total_steps=args.steps)
    diary = Diary(args.diary)
    best = float("inf")
    for step in range(1, args.steps + 1):
        rows = torch.randint(len(past), (args.batch,))
        forecast = model(past[rows])
        loss, point = objective(forecast, coming[rows], args.alpha, args.gamma)
        optimizer.zero_grad()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        diary.write(step, loss=loss.item(), point=point.item(), norm=norm.item(), rate=scheduler.get_last_lr()[0])
        if step % 100 == 0:
            error = validate(model, held_past, held_coming)
            diary.write(step, held=error)
            print(f"{step:5d}  loss {loss.item():.4f}  held {error:.4f}", flush=True)
            if error < best:
                best = error
                torch.save(model.state_dict(), "geyser.pt")


if __name__ == "__main__":
    main()
