"""Predict the headway error (seconds) of a tram at the next stop from the control-room feed."""
import argparse
import json
import time
from pathlib import Path

import numpy as np
import pandas as pd
import torch
from torch import nn

N_STOPS, N_VEHICLES, N_PATTERNS = 2400, 380, 100000
N_LAGS, N_WEATHER, N_SIGNALS = 72, 24, 96


def make_feed(rows, seed):
    """A stand-in for the AVL export: one row for each stop call."""
    rng = np.random.default_rng(seed)
    cols = {}
    level = rng.normal(0, 1, rows).astype(np.float32)
    for i in range(N_LAGS):
        cols[f"headway_lag_{i}"] = level * 0.95 ** i + rng.normal(0, 1, rows).astype(np.float32)
    for i in range(N_WEATHER):
        cols[f"weather_{i}"] = rng.normal(0, 1, rows).astype(np.float32)
    for i in range(N_SIGNALS):
        cols[f"signal_{i}"] = rng.exponential(1, rows).astype(np.float32)
    df = pd.DataFrame(cols)
    df["stop"] = rng.integers(0, N_STOPS, rows)
    df["vehicle"] = rng.integers(0, N_VEHICLES, rows)
    df["pattern"] = rng.zipf(1.3, rows) % N_PATTERNS
    effect = rng.normal(0, 0.4, N_STOPS)
    df["target"] = (0.7 * level + effect[df["stop"]] + 0.2 * cols["signal_3"] * cols["headway_lag_0"]
                    + rng.normal(0, 0.3, rows)).astype(np.float32)
    return df


def split_feed(df, holdout):
    cut = int(len(df) * (1 - holdout))
    train, test = df.iloc[:cut], df.iloc[cut:]
    numeric = [c for c in df.columns if c.startswith(("headway", "weather", "signal"))]
    mean, std = train[numeric].mean(), train[numeric].std() + 1e-6
    parts = []
    for part in (train, test):
        scaled = (part[numeric] - mean) / std
        parts.append((
            scaled.to_numpy(dtype=np.float32),
            part[["stop", "vehicle", "pattern"]].to_numpy(dtype=np.int64),
            part["target"].to_numpy(dtype=np.float32),
        ))
    return parts, len(numeric)


class HeadwayNet(nn.Module):
    def __init__(self, n_numeric, width):
        super().__init__()
        self.stop = nn.Embedding(N_STOPS, 16)
        self.vehicle = nn.Embedding(N_VEHICLES, 8)
        self.pattern = nn.Embedding(N_PATTERNS, 24)
        for e in (self.stop, self.vehicle, self.pattern):
            nn.init.normal_(e.weight, std=0.02)
        self.body = nn.Sequential(
            nn.Linear(n_numeric + 48, width), nn.SiLU(),
            nn.Linear(width, width // 2), nn.SiLU(),
            nn.Linear(width // 2, 1),
        )

    def forward(self, numeric, codes):
        stop, vehicle, pattern = codes.unbind(1)
        x = torch.cat([numeric, self.stop(stop), self.vehicle(vehicle), self.pattern(pattern)], dim=1)
        return self.body(x).squeeze(1)


def batches(arrays, size, rng):
    numeric, codes, target = arrays
    order = rng.permutation(len(target))
    for start in range(0, len(order) - size + 1, size):
        rows = order[start:start + size]
        yield (torch.from_numpy(numeric[rows]), torch.from_numpy(codes[rows]), torch.from_numpy(target[rows]))


def ridge(model):
    total = 0.0
    for p in model.parameters():
        total = total + p.pow(2).sum()
    return total


@torch.inference_mode()
def evaluate(model, arrays, size=4096):
    model.eval()
    numeric, codes, target = (torch.from_numpy(a) for a in arrays)
    err = 0.0
    for i in range(0, len(target), size):
        err += (model(numeric[i:i + size], codes[i:i + size]) - target[i:i + size]).abs().sum().item()
    model.train()
    return err / len(target)


def main():
    p = argparse.ArgumentParser()
    p.add_argument("--rows", type=int, default=60000)
    p.add_argument("--epochs", type=int, default=120)
    p.add_argument("--batch", type=int, default=2048)
    p.add_argument("--width", type=int, default=256)
    p.add_argument("--lr", type=float, default=1e-3)
    p.add_argument("--l2", type=float, default=1e-6)
    p.add_argument("--seed", type=int, default=3)
    args = p.parse_args()

    torch.manual_seed(args.seed)
    rng = np.random.default_rng(args.seed)
    (train, test), n_numeric = split_feed(make_feed(args.rows, args.seed), 0.15)
    model = HeadwayNet(n_numeric, args.width)
    opt = torch.optim.Adam(model.parameters(), lr=args.lr, fused=True)
    out = Path("runs")
    out.mkdir(exist_ok=True)
    history = []
    for epoch in range(args.epochs):
        t0, total, n = time.time(), 0.0, 0
        for numeric, codes, target in batches(train, args.batch, rng):
            pred = model(numeric, codes)
            loss = nn.functional.smooth_l1_loss(pred, target) + args.l2 * ridge(model)
            opt.zero_grad()
            loss.backward()
            opt.step()
            total += loss.item()
            n += 1
        mae = evaluate(model, test)
        history.append({"epoch": epoch, "loss": total / n, "mae": mae, "sec": time.time() - t0})
        print(f"epoch {epoch:3d} loss {total / n:.4f} mae {mae:.4f} ({history[-1]['sec']:.1f}s)", flush=True)
        (out / "history.json").write_text(json.dumps(history))
    torch.save(model.state_dict(), out / "headway.pt")


if __name__ == "__main__":
    main()
