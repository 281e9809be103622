# %% imports
import time

import numpy as np
import pandas as pd
import torch
from torch import nn
from torch.utils.data import DataLoader, Dataset

torch.manual_seed(0)
rng = np.random.default_rng(0)

# %% customers
N = 16000
df = pd.DataFrame({
    "tenure": rng.integers(0, 72, N),
    "monthly": rng.gamma(6.0, 12.0, N),
    "calls": rng.poisson(1.6, N),
    "data_gb": rng.lognormal(2.0, 0.8, N),
    "age": rng.integers(18, 90, N),
    "late_payments": rng.poisson(0.4, N),
    "discount": rng.random(N) * 0.3,
    "plan": rng.choice(["basic", "plus", "family", "business"], N, p=[0.4, 0.3, 0.2, 0.1]),
    "region": rng.choice([f"r{i}" for i in range(12)], N),
    "contract": rng.choice(["monthly", "one-year", "two-year"], N, p=[0.5, 0.3, 0.2]),
})
logit = (-0.05 * df.tenure + 0.02 * df.monthly + 0.5 * df.late_payments + 0.3 * df.calls
         + 1.2 * (df.contract == "monthly") - 2.0 * df.discount - 1.0)
df["churn"] = (rng.random(N) < 1 / (1 + np.exp(-logit))).astype(int)

# %% preprocessing
numeric = ["tenure", "monthly", "calls", "data_gb", "age", "late_payments", "discount"]
categorical = ["plan", "region", "contract"]
df["data_gb"] = np.log1p(df["data_gb"])
df[numeric] = (df[numeric] - df[numeric].mean()) / df[numeric].std()
cardinality = []
for c in categorical:
    df[c] = df[c].astype("category").cat.codes.astype("int64")
    cardinality.append(int(df[c].max()) + 1)
split = int(0.85 * N)
train_df, val_df = df.iloc[:split].reset_index(drop=True), df.iloc[split:].reset_index(drop=True)


# %% dataset
class ChurnDataset(Dataset):
    def __init__(self, frame):
        self.x_num = frame[numeric].astype("float32")
        self.x_cat = frame[categorical]
        self.y = frame["churn"].astype("float32")

    def __len__(self):
        return len(self.y)

    def __getitem__(self, idx):
        return (torch.tensor(self.x_num.iloc[idx].values),
                torch.tensor(self.x_cat.iloc[idx].values),
                torch.tensor(self.y.iloc[idx]))


train_loader = DataLoader(ChurnDataset(train_df), batch_size=128, shuffle=True, drop_last=True)
val_loader = DataLoader(ChurnDataset(val_df), batch_size=600)


# %% model
class ResidualMLP(nn.Module):
    def __init__(self, width=384, depth=4, emb=16):
        super().__init__()
        self.embeds = nn.ModuleList([nn.Embedding(c, emb) for c in cardinality])
        self.inp = nn.Linear(len(numeric) + emb * len(categorical), width)
        self.blocks = nn.ModuleList([
            nn.Sequential(nn.LayerNorm(width), nn.Linear(width, width * 2), nn.GELU(), nn.Dropout(0.1),
                          nn.Linear(width * 2, width)) for _ in range(depth)])
        self.out = nn.Linear(width, 1)

    def forward(self, num, cat):
        x = self.inp(torch.cat([num] + [e(cat[:, i]) for i, e in enumerate(self.embeds)], dim=1))
        for block in self.blocks:
            x = x + block(x)
        return self.out(x).squeeze(1)


model = ResidualMLP()
opt = torch.optim.SGD(model.parameters(), lr=0.02, momentum=0.9, weight_decay=1e-4)
criterion = nn.BCEWithLogitsLoss()

# %% training
for epoch in range(12):
    t0 = time.time()
    model.train()
    train_loss = 0.0
    for num, cat, y in train_loader:
        opt.zero_grad()
        loss = criterion(model(num, cat), y)
        loss.backward()
        opt.step()
        train_loss += loss.item()

    model.eval()
    scores, truth = [], []
    with torch.no_grad():
        for num, cat, y in val_loader:
            scores.append(model(num, cat))
            truth.append(y)
    scores, truth = torch.cat(scores), torch.cat(truth)
    accuracy = ((scores > 0) == (truth > 0.5)).float().mean().item()
    ranks = scores.argsort().argsort().float() + 1
    n_pos = truth.sum()
    auc = ((ranks[truth > 0.5].sum() - n_pos * (n_pos + 1) / 2) / (n_pos * (len(truth) - n_pos))).item()
    print(f"epoch {epoch + 1:2d} | loss {train_loss / len(train_loader):.4f} | acc {accuracy:.4f} "
          f"| auc {auc:.4f} | {time.time() - t0:.1f}s")
