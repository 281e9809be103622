"""Click-through-rate model on a generated table."""
import argparse
import json

import numpy as np
import pandas as pd
import torch
import torch.nn as nn

CAT = ["site", "device", "hour", "campaign", "country"]
CARD = [500, 40, 24, 300, 60]
NUM = ["age", "price", "dwell", "scroll", "n_prev", "bid"]


def fake_table(n, seed=3):
    g = np.random.default_rng(seed)
    df = pd.DataFrame({c: g.integers(0, k, n) for c, k in zip(CAT, CARD)})
    for c in NUM:
        df[c] = g.gamma(2.0, 1.0, n)
    logit = 0.4 * df["price"] - 0.3 * df["dwell"] + (df["hour"] > 18) * 0.8 - 1.5
    df["click"] = (g.random(n) < 1 / (1 + np.exp(-logit))).astype(float)
    return df


class CTRNet(nn.Module):
    def __init__(self, dim=24, hidden=512):
        super().__init__()
        self.embs = nn.ModuleList([nn.Embedding(k, dim) for k in CARD])
        self.norm = nn.BatchNorm1d(len(NUM))
        self.mlp = nn.Sequential(
            nn.Linear(dim * len(CAT) + len(NUM), hidden), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(hidden, hidden), nn.ReLU(), nn.Dropout(0.1),
            nn.Linear(hidden, 128), nn.ReLU(),
            nn.Linear(128, 1))

    def forward(self, cat, num):
        e = [emb(cat[:, i]) for i, emb in enumerate(self.embs)]
        return self.mlp(torch.cat(e + [self.norm(num)], 1)).squeeze(1)


def auc(y, s):
    df = pd.DataFrame({"y": y, "s": s})
    df["r"] = df["s"].rank()
    pos = df["y"].sum()
    neg = len(df) - pos
    return (df.loc[df["y"] == 1, "r"].sum() - pos * (pos + 1) / 2) / max(1, pos * neg)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=2)
    ap.add_argument("--batch", type=int, default=512)
    ap.add_argument("--rows", type=int, default=512 * 110)
    a = ap.parse_args()
    torch.manual_seed(0)
    df = fake_table(a.rows)
    y = torch.from_numpy(df["click"].values)
    cat = torch.from_numpy(df[CAT].values)
    num = torch.from_numpy(df[NUM].values)

    model = CTRNet().double()
    opt = torch.optim.Adam(model.parameters(), lr=1e-3, weight_decay=1e-6)
    bce = nn.BCEWithLogitsLoss()
    history = pd.DataFrame(columns=["epoch", "step", "loss", "auc", "ctr"])
    for epoch in range(a.epochs):
        perm = torch.randperm(len(df))
        for step in range(len(df) // a.batch):
            idx = perm[step * a.batch:(step + 1) * a.batch]
            out = model(cat[idx], num[idx])
            loss = bce(out, y[idx])
            opt.zero_grad()
            loss.backward()
            opt.step()
            row = {"epoch": epoch, "step": step, "loss": loss.item(),
                   "auc": auc(y[idx].numpy(), out.detach().numpy()), "ctr": y[idx].mean().item()}
            history = pd.concat([history if len(history) else None, pd.DataFrame([row])], ignore_index=True)
            smooth = history.groupby("epoch")[["loss", "auc"]].apply(lambda d: d.ewm(span=20).mean().iloc[-1])
            if step % 50 == 0:
                print(json.dumps({"epoch": epoch, "step": step, **smooth.iloc[-1].round(4).to_dict()}))
    history.to_csv("history.csv", index=False)


if __name__ == "__main__":
    main()
