"""Day-ahead electricity load forecast from hourly readings of several substations."""
import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

HISTORY, HORIZON = 96, 24
FEATURES = ["load", "temp", "hour_sin", "hour_cos", "weekend"]


def make_frame(stations=6, days=120, seed=0):
    rng = np.random.default_rng(seed)
    index = pd.date_range("2024-01-01", periods=24 * days, freq="h")
    hour, weekend = index.hour.to_numpy(), (index.day_of_week >= 5).astype(float)
    frames = []
    for s in range(stations):
        temp = 10 + 8 * np.sin(2 * np.pi * np.arange(len(index)) / (24 * 60)) + rng.normal(0, 1.5, len(index))
        load = 50 + 10 * s + 12 * np.sin(2 * np.pi * (hour - 7) / 24) - 6 * weekend - 0.8 * temp
        frames.append(
            pd.DataFrame(
                {
                    "station": s,
                    "time": index,
                    "load": load + rng.normal(0, 2, len(index)),
                    "temp": temp,
                    "hour_sin": np.sin(2 * np.pi * hour / 24),
                    "hour_cos": np.cos(2 * np.pi * hour / 24),
                    "weekend": weekend,
                }
            )
        )
    df = pd.concat(frames, ignore_index=True)
    for col in ("load", "temp"):
        df[col] = (df[col] - df[col].mean()) / df[col].std()
    return df


class WindowDataset(Dataset):
    def __init__(self, df, stride=4):
        self.df = df
        self.starts = []
        for _, g in df.groupby("station"):
            last = len(g) - HISTORY - HORIZON
            self.starts += [int(g.index[0]) + k for k in range(0, last, stride)]

    def __len__(self):
        return len(self.starts)

    def __getitem__(self, i):
        a = self.starts[i]
        past = self.df.iloc[a : a + HISTORY][FEATURES]
        future = self.df.iloc[a + HISTORY : a + HISTORY + HORIZON]
        x = torch.tensor(past.values, dtype=torch.float32)
        known = torch.tensor(future[FEATURES[1:]].values, dtype=torch.float32)
        y = torch.tensor(future["load"].values, dtype=torch.float32)
        return x, known, y


class Forecaster(nn.Module):
    def __init__(self, hidden=32):
        super().__init__()
        self.encoder = nn.GRU(len(FEATURES), hidden, batch_first=True)
        self.decoder = nn.Sequential(
            nn.Linear(hidden + HORIZON * (len(FEATURES) - 1), 96), nn.ReLU(), nn.Linear(96, HORIZON)
        )

    def forward(self, x, known):
        _, h = self.encoder(x)
        return self.decoder(torch.cat([h[-1], known.flatten(1)], dim=1))


def epoch(model, loader, optimizer=None):
    losses = []
    for x, known, y in loader:
        with torch.set_grad_enabled(optimizer is not None):
            loss = nn.functional.l1_loss(model(x, known), y)
        if optimizer is not None:
            optimizer.zero_grad()
            loss.backward()
            optimizer.step()
        losses.append(loss.item())
    return float(np.mean(losses))


def main(epochs=6, batch_size=32, lr=3e-3):
    torch.manual_seed(0)
    df = make_frame()
    split = df["time"] < "2024-04-10"
    train_df, valid_df = df[split].reset_index(drop=True), df[~split].reset_index(drop=True)
    train = DataLoader(WindowDataset(train_df), batch_size=batch_size, shuffle=True)
    valid = DataLoader(WindowDataset(valid_df, stride=12), batch_size=batch_size)
    model = Forecaster()
    optimizer = torch.optim.Adam(model.parameters(), lr=lr)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(optimizer, patience=1)
    best = float("inf")
    for e in range(epochs):
        tr = epoch(model, train, optimizer)
        va = epoch(model, valid)
        scheduler.step(va)
        print(f"epoch {e + 1}/{epochs}  mae train {tr:.4f}  valid {va:.4f}")
        if va < best:
            best = va
            torch.save(model.state_dict(), "forecast.pt")


if __name__ == "__main__":
    main()
