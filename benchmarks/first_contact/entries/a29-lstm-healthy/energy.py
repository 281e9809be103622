"""Load forecasting for substations: stacked LSTM, quantile loss."""
import argparse
import time

import numpy as np
import torch
import torch.nn as nn

QUANTILES = torch.tensor([0.1, 0.5, 0.9])


class LoadNet(nn.Module):
    def __init__(self, features, hidden, horizon):
        super().__init__()
        self.lstm = nn.LSTM(features, hidden, num_layers=2, batch_first=True)
        self.head = nn.Linear(hidden, horizon * 3)
        self.horizon = horizon

    def forward(self, x):
        out, _ = self.lstm(x)
        return self.head(out[:, -1]).view(-1, self.horizon, 3)


def pinball(pred, y):
    err = y[..., None] - pred
    return torch.maximum(QUANTILES * err, (QUANTILES - 1) * err).mean()


def load_curves(stations, hours, seed):
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    day = np.sin(2 * np.pi * (t / 24 + rng.random((stations, 1))))
    week = np.sin(2 * np.pi * t / 168)
    load = 1 + 0.5 * day + 0.2 * week + 0.1 * rng.standard_normal((stations, hours))
    calendar = np.stack([np.sin(2 * np.pi * t / 24), np.cos(2 * np.pi * t / 24), week])
    x = np.concatenate([load[:, None], np.broadcast_to(calendar, (stations, 3, hours))], 1)
    return torch.from_numpy(x.astype(np.float32))


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--steps", type=int, default=2000)
    ap.add_argument("--batch", type=int, default=32)
    ap.add_argument("--history", type=int, default=48)
    ap.add_argument("--horizon", type=int, default=12)
    ap.add_argument("--hidden", type=int, default=128)
    args = ap.parse_args()
    torch.manual_seed(0)
    curves = load_curves(60, 2400, 0)
    views = curves.unfold(2, args.history + args.horizon, 1)
    model = LoadNet(4, args.hidden, args.horizon)
    opt = torch.optim.Adam(model.parameters(), lr=1e-3)
    t0, shown = time.time(), 0.0
    for step in range(1, args.steps + 1):
        s = torch.randint(views.shape[0], (args.batch,))
        k = torch.randint(views.shape[2], (args.batch,))
        w = views[s, :, k].transpose(1, 2)
        past, future = w[:, :args.history], w[:, args.history:, 0]
        loss = pinball(model(past), future)
        opt.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        shown += loss.item()
        if step % 25 == 0:
            print(f"{step:4d} pinball {shown / 25:.4f} {25 / (time.time() - t0):.1f} it/s")
            t0, shown = time.time(), 0.0


if __name__ == "__main__":
    main()
