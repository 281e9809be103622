# %% Forecast twelve hours of load for many meters from the last three days
import time

import numpy as np
import torch
import torch.nn as nn

torch.manual_seed(21)
rng = np.random.default_rng(21)
HISTORY, AHEAD, METERS, HOURS = 72, 12, 40, 24 * 7 * 12

# %% made-up meters: day and week rhythm, weather, drift
hour = np.arange(HOURS)
weather = np.convolve(rng.normal(size=HOURS + 47), np.ones(48) / 7, mode="valid")
phase, size = rng.uniform(0, 6.28, (METERS, 1)), rng.uniform(0.5, 1.5, (METERS, 1))
load = size * np.sin(2 * np.pi * hour / 24 + phase) + 0.4 * np.cos(2 * np.pi * hour / 168) - 0.3 * weather
load = load + 0.15 * rng.normal(size=load.shape)
load = (load - load.mean(1, keepdims=True)) / load.std(1, keepdims=True)
calendar = np.stack([np.sin(2 * np.pi * hour / 24), np.cos(2 * np.pi * hour / 24), np.sin(2 * np.pi * hour / 168),
                     np.cos(2 * np.pi * hour / 168), weather])
load = torch.tensor(load, dtype=torch.float32)
calendar = torch.tensor(calendar, dtype=torch.float32).T.contiguous()

# %% windows are views; a batch gathers the ones it needs
load_windows = load.unfold(1, HISTORY + AHEAD, 1)
calendar_windows = calendar.unfold(0, HISTORY + AHEAD, 1).transpose(1, 2)
starts = load_windows.shape[1]
last_train = int(0.85 * starts)


def batch_of(meters, begin):
    y = load_windows[meters, begin]
    c = calendar_windows[begin]
    past = torch.cat([y[:, :HISTORY, None], c[:, :HISTORY]], 2)
    return past.transpose(0, 1).contiguous(), c[:, HISTORY:].transpose(0, 1), y[:, HISTORY:].T


# %% model
class Seq2Seq(nn.Module):
    def __init__(self, hidden=128):
        super().__init__()
        self.encoder = nn.LSTM(6, hidden)
        self.cell = nn.LSTMCell(6, hidden)
        self.readout = nn.Linear(hidden, 1)

    def forward(self, past, known):
        _, (h, c) = self.encoder(past)
        h, c = h[0], c[0]
        value, out = past[-1, :, :1], []
        for step in known:
            h, c = self.cell(torch.cat([value, step], 1), (h, c))
            value = value + self.readout(h)
            out.append(value)
        return torch.cat(out, 1).T


model = Seq2Seq()
optimizer = torch.optim.AdamW(model.parameters(), lr=2e-3, fused=True)
schedule = torch.optim.lr_scheduler.OneCycleLR(optimizer, max_lr=4e-3, total_steps=500)
val_meters = torch.arange(METERS).repeat_interleave(20)
val_begin = torch.linspace(last_train + AHEAD, starts - 1, 20).long().repeat(METERS)
val_batch = batch_of(val_meters, val_begin)
print(f"{METERS * last_train} training windows, {sum(p.numel() for p in model.parameters())} parameters")

# %% training
began, recent, best = time.time(), [], float("inf")
for step in range(1, 501):
    past, known, target = batch_of(torch.randint(METERS, (96,)), torch.randint(last_train, (96,)))
    loss = nn.functional.smooth_l1_loss(model(past, known), target)
    optimizer.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimizer.step()
    schedule.step()
    recent.append(loss.item())

    if step % 100 == 0:
        model.eval()
        with torch.inference_mode():
            error = (model(val_batch[0], val_batch[1]) - val_batch[2]).abs().mean().item()
        model.train()
        best = min(best, error)
        print(f"step {step}: train {np.mean(recent[-100:]):.4f}  val MAE {error:.4f}  best {best:.4f}  {time.time() - began:.0f}s")
