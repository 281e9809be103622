# coding: utf-8
# # Forecasting a driven pendulum (exported from notebook)

# In[1]:
import numpy as np
import torch
import torch.nn as nn
from torch.utils.data import Dataset, DataLoader
import time

SEED = 1
np.random.seed(SEED); torch.manual_seed(SEED)
WINDOW, HORIZON, BATCH, EPOCHS = 64, 8, 32, 7


# In[2]:
def simulate(n_traj=24, n=900, dt=0.05):
    th = np.random.uniform(-2, 2, n_traj); om = np.zeros(n_traj)
    amp = np.random.uniform(0.2, 1.2, n_traj); w = np.random.uniform(0.4, 0.9, n_traj)
    out = np.empty((n_traj, n, 3))
    for k in range(n):
        drive = amp * np.cos(w * k * dt)
        om = om + dt * (-np.sin(th) - 0.2 * om + drive)
        th = th + dt * om
        out[:, k] = np.stack([np.sin(th), np.cos(th), drive], 1)
    return out

data = simulate()
mean, std = data.mean((0, 1)), data.std((0, 1))
data = (data - mean) / std
train_raw, val_raw = data[:20], data[20:]
print(data.shape, data.dtype)


# In[3]:
class Windows(Dataset):
    def __init__(self, raw, stride):
        self.raw = raw
        last = raw.shape[1] - WINDOW - HORIZON
        self.idx = [(i, s) for i in range(len(raw)) for s in range(0, last, stride)]

    def __len__(self):
        return len(self.idx)

    def __getitem__(self, k):
        i, s = self.idx[k]
        x = self.raw[i, s:s + WINDOW]
        y = self.raw[i, s + WINDOW:s + WINDOW + HORIZON, 0]
        return torch.from_numpy(x), torch.from_numpy(y)

train_dl = DataLoader(Windows(train_raw, 6), batch_size=BATCH, shuffle=True)
val_dl = DataLoader(Windows(val_raw, 24), batch_size=256)
print(len(train_dl), len(val_dl))


# In[4]:
class Forecaster(nn.Module):
    def __init__(self, d_in=3, hidden=56, layers=2):
        super().__init__()
        self.rnn = nn.LSTM(d_in, hidden, layers, batch_first=True, dropout=0.1)
        self.head = nn.Sequential(nn.Linear(hidden, 256), nn.GELU(), nn.Linear(256, HORIZON))

    def forward(self, x):
        h, _ = self.rnn(x)
        return self.head(h[:, -1])

model = Forecaster().double()
opt = torch.optim.AdamW(model.parameters(), lr=2e-3)
loss_fn = nn.HuberLoss()
sum(p.numel() for p in model.parameters())


# In[5]:
def evaluate():
    model.eval()
    tot, n = 0.0, 0
    with torch.no_grad():
        for x, y in val_dl:
            tot += loss_fn(model(x), y).item() * len(x)
            n += len(x)
    model.train()
    return tot / n

history = []
for epoch in range(EPOCHS):
    t0 = time.time(); running = 0.0
    for x, y in train_dl:
        opt.zero_grad()
        loss = loss_fn(model(x), y)
        loss.backward()
        nn.utils.clip_grad_norm_(model.parameters(), 1.0)
        opt.step()
        running += loss.item()
    history.append((running / len(train_dl), evaluate()))
    print(f'epoch {epoch:2d} train {history[-1][0]:.4f} val {history[-1][1]:.4f} {time.time() - t0:.1f}s')


# In[6]:
torch.save({'model': model.state_dict(), 'mean': mean, 'std': std, 'history': history}, 'pendulum.pt')
