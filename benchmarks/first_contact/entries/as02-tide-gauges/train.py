"""Storm surge at a tide gauge, 24 hours ahead: GRU encoder, GRU decoder with additive attention."""
import math

import numpy as np
import torch
from torch import nn

CONFIG = dict(hours=24 * 365 * 27, past=60, ahead=24, hidden=32, batch=24, lr=1e-3, steps=800, report=100, seed=11)


def make_gauges(hours, seed):
    """Seven channels: surge at four gauges, air pressure, wind along and across the coast."""
    rng = np.random.default_rng(seed)
    t = np.arange(hours)
    series = np.empty((hours, 7), np.float32)
    storms = np.convolve(rng.standard_normal(hours) * (rng.random(hours) < 0.02), np.exp(-np.arange(60) / 14.0), "same")
    for k in range(4):
        series[:, k] = np.roll(storms, 3 * k) + 0.2 * np.sin(2 * np.pi * t / 12.42 + k) + 0.05 * rng.standard_normal(hours)
    series[:, 4] = -np.roll(storms, -6) + 0.1 * rng.standard_normal(hours)
    series[:, 5] = np.gradient(storms) * 4 + 0.2 * rng.standard_normal(hours)
    series[:, 6] = np.cos(2 * np.pi * t / 8766) + 0.2 * rng.standard_normal(hours)
    return torch.from_numpy(series)


class SurgeWindows(torch.utils.data.Dataset):
    def __init__(self, series, past, ahead):
        self.series, self.past, self.ahead = series, past, ahead

    def __len__(self):
        return len(self.series) - self.past - self.ahead

    def __getitem__(self, i):
        middle = i + self.past
        return self.series[i:middle], self.series[middle:middle + self.ahead, 0]


class AdditiveAttention(nn.Module):
    def __init__(self, hidden):
        super().__init__()
        self.mix = nn.Linear(2 * hidden, hidden)
        self.score = nn.Linear(hidden, 1, bias=False)

    def forward(self, state, memory):
        state = state.unsqueeze(1).expand(-1, memory.shape[1], -1)
        energy = torch.tanh(self.mix(torch.cat([state, memory], dim=2)))
        weights = torch.softmax(self.score(energy).squeeze(2), dim=1)
        return torch.bmm(weights.unsqueeze(1), memory).squeeze(1)


class SurgeForecaster(nn.Module):
    def __init__(self, channels, hidden, ahead):
        super().__init__()
        self.ahead = ahead
        self.encoder = nn.GRU(channels, hidden, batch_first=True)
        self.attention = AdditiveAttention(hidden)
        self.cell = nn.GRUCell(hidden + 1, hidden)
        self.out = nn.Linear(2 * hidden, 1)

    def forward(self, past, target=None, teacher=0.0):
        memory, last = self.encoder(past)
        state, value = last[0], past[:, -1, 0:1]
        forecast = []
        for hour in range(self.ahead):
            context = self.attention(state, memory)
            state = self.cell(torch.cat([context, value], 1), state)
            value = self.out(torch.cat([state, context], 1))
            forecast.append(value)
            if target is not None and torch.rand(()) < teacher:
                value = target[:, hour:hour + 1]
        return torch.cat(forecast, 1)


def pinball(forecast, target, level=0.7):
    gap = target - forecast
    return torch.maximum(level * gap, (level - 1) * gap).mean()


@torch.no_grad()
def evaluate(model, loader, batches=6):
    model.eval()
    errors = []
    for n, (past, target) in enumerate(loader):
        if n == batches:
            break
        errors.append((model(past) - target).abs().mean())
    model.train()
    return torch.stack(errors).mean().item()


def main(cfg):
    torch.manual_seed(cfg["seed"])
    series = make_gauges(cfg["hours"], cfg["seed"])
    split = int(0.9 * len(series))
    series = (series - series[:split].mean(0)) / series[:split].std(0)
    train_set = SurgeWindows(series[:split], cfg["past"], cfg["ahead"])
    val_set = SurgeWindows(series[split:], cfg["past"], cfg["ahead"])
    train_loader = torch.utils.data.DataLoader(train_set, batch_size=cfg["batch"], shuffle=True, drop_last=True)
    val_loader = torch.utils.data.DataLoader(val_set, batch_size=128)

    model = SurgeForecaster(series.shape[1], cfg["hidden"], cfg["ahead"])
    optimizer = torch.optim.Adam(model.parameters(), lr=cfg["lr"])
    scheduler = torch.optim.lr_scheduler.CosineAnnealingLR(optimizer, cfg["steps"])
    running, best = None, math.inf
    step = 0
    while step < cfg["steps"]:
        past, target = next(iter(train_loader))
        forecast = model(past, target, teacher=max(0.0, 0.8 - step / cfg["steps"]))
        loss = pinball(forecast, target)
        optimizer.zero_grad(set_to_none=True)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        optimizer.step()
        scheduler.step()
        running = loss.item() if running is None else 0.98 * running + 0.02 * loss.item()
        step += 1
        if step % cfg["report"] == 0:
            error = evaluate(model, val_loader)
            print(f"{step:5d}  pinball {running:.4f}  mean absolute error {error:.4f}")
            if error < best:
                best = error
                torch.save({"model": model.state_dict(), "step": step}, "surge.pt")


if __name__ == "__main__":
    main(CONFIG)
