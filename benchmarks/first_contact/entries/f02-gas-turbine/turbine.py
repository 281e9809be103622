# Remaining useful life of gas turbines from sensor windows
import time

import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import DataLoader, TensorDataset

from cells import LSTMLayer

SENSORS, WINDOW, CAP = 14, 40, 125
rng = np.random.default_rng(5)


def run_to_failure():
    life = rng.integers(130, 260)
    age = np.arange(life) / life
    wear = np.exp(3.5 * (age - 1))[:, None]
    drift = rng.normal(0, 1, (1, SENSORS)) * wear
    return (drift + 0.25 * rng.normal(size=(life, SENSORS))).astype(np.float32), life


def windows(engines):
    xs, ys = [], []
    for _ in range(engines):
        readings, life = run_to_failure()
        for end in range(WINDOW, life, 2):
            xs.append(readings[end - WINDOW:end])
            ys.append(min(life - end, CAP) / CAP)
    return TensorDataset(torch.from_numpy(np.stack(xs)), torch.tensor(ys, dtype=torch.float32))


class RULNet(nn.Module):
    def __init__(self, hidden=48):
        super().__init__()
        self.lower = LSTMLayer(SENSORS, hidden)
        self.upper = LSTMLayer(hidden, hidden)
        self.drop = nn.Dropout(0.2)
        self.head = nn.Sequential(nn.Linear(hidden, 32), nn.ReLU(), nn.Linear(32, 1))

    def forward(self, x):
        h = self.drop(self.lower(x))
        h = self.upper(h)[:, -1]
        return self.head(self.drop(h)).squeeze(1)


torch.manual_seed(5)
train_set, test_set = windows(70), windows(12)
train_loader = DataLoader(train_set, batch_size=64, shuffle=True)
test_loader = DataLoader(test_set, batch_size=256)
net = RULNet()
optimizer = torch.optim.AdamW(net.parameters(), lr=2e-3)
criterion = nn.MSELoss()
print(len(train_set), "windows,", sum(p.numel() for p in net.parameters()), "parameters")

for epoch in range(15):
    net.train()
    start, total = time.time(), 0.0
    for x, y in train_loader:
        optimizer.zero_grad()
        loss = criterion(net(x), y)
        loss.backward()
        torch.nn.utils.clip_grad_norm_(net.parameters(), 1.0)
        optimizer.step()
        total += loss.item() * len(x)
    net.eval()
    with torch.no_grad():
        error = sum(((net(x) - y) ** 2).sum().item() for x, y in test_loader) / len(test_set)
    print(f"epoch {epoch}: train RMSE {CAP * (total / len(train_set)) ** 0.5:.1f}, test RMSE {CAP * error ** 0.5:.1f} cycles, {time.time() - start:.1f} s")
