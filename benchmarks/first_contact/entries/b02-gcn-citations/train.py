import json
import os
import time

import numpy as np
import torch
from torch import nn

cfg = dict(nodes=600, feats=600, classes=7, hidden=256, layers=3, dropout=0.5, lr=1e-2, wd=5e-4, epochs=600, patience=2000, seed=3, out="runs")


def make_graph(n, feats, classes, seed):
    """stochastic block model with noisy bag-of-words features"""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, classes, n)
    p = np.where(y[:, None] == y[None, :], 0.02, 0.0015)
    upper = np.triu(rng.random((n, n)) < p, 1)
    adj = (upper | upper.T).astype(np.float32)
    protos = rng.random((classes, feats)) < 0.08
    x = (rng.random((n, feats)) < 0.02) | (protos[y] & (rng.random((n, feats)) < 0.2))
    perm = rng.permutation(n)
    return torch.from_numpy(x.astype(np.float32)), torch.from_numpy(adj), torch.from_numpy(y), perm


class GraphConv(nn.Module):
    def __init__(self, d_in, d_out):
        super().__init__()
        self.weight = nn.Parameter(torch.empty(d_in, d_out))
        self.bias = nn.Parameter(torch.zeros(d_out))
        nn.init.xavier_uniform_(self.weight)

    def forward(self, x, adj):
        a_hat = adj + torch.eye(adj.size(0))
        deg = a_hat.sum(1)
        d_inv_sqrt = torch.diag(deg.pow(-0.5))
        a_norm = d_inv_sqrt @ a_hat @ d_inv_sqrt
        return a_norm @ (x @ self.weight) + self.bias


class GCN(nn.Module):
    def __init__(self, d_in, hidden, d_out, layers, dropout):
        super().__init__()
        dims = [d_in] + [hidden] * (layers - 1) + [d_out]
        self.convs = nn.ModuleList(GraphConv(a, b) for a, b in zip(dims, dims[1:]))
        self.drop = nn.Dropout(dropout)

    def forward(self, x, adj):
        for i, conv in enumerate(self.convs):
            x = conv(x, adj)
            if i < len(self.convs) - 1:
                x = self.drop(torch.relu(x))
        return x


def accuracy(logits, y):
    return (logits.argmax(1) == y).float().mean().item()


def main():
    torch.manual_seed(cfg["seed"])
    x, adj, y, perm = make_graph(cfg["nodes"], cfg["feats"], cfg["classes"], cfg["seed"])
    x = x / x.sum(1, keepdim=True).clamp(min=1)
    idx_train = torch.from_numpy(perm[:140])
    idx_val = torch.from_numpy(perm[140:440])
    idx_test = torch.from_numpy(perm[440:])
    model = GCN(cfg["feats"], cfg["hidden"], cfg["classes"], cfg["layers"], cfg["dropout"])
    opt = torch.optim.Adam(model.parameters(), lr=cfg["lr"], weight_decay=cfg["wd"])
    crit = nn.CrossEntropyLoss()
    os.makedirs(cfg["out"], exist_ok=True)
    best, bad, hist, t0 = 0.0, 0, [], time.time()

    for epoch in range(1, cfg["epochs"] + 1):
        model.train()
        opt.zero_grad()
        out = model(x, adj)
        loss = crit(out[idx_train], y[idx_train])
        loss.backward()
        opt.step()

        if epoch % 10 == 0:
            model.eval()
            with torch.no_grad():
                out = model(x, adj)
            val = accuracy(out[idx_val], y[idx_val])
            hist.append((epoch, loss.item(), val))
            if val > best:
                best, bad = val, 0
                torch.save(model.state_dict(), f"{cfg['out']}/best.pt")
            else:
                bad += 10
                if bad >= cfg["patience"]:
                    break
            if epoch % 50 == 0:
                print(f"epoch {epoch:4d} loss {loss.item():.4f} val {val:.3f} best {best:.3f} ({time.time() - t0:.1f}s)")

    model.load_state_dict(torch.load(f"{cfg['out']}/best.pt"))
    model.eval()
    with torch.no_grad():
        print("test accuracy", accuracy(model(x, adj)[idx_test], y[idx_test]))
    json.dump(hist, open(f"{cfg['out']}/hist.json", "w"))


main()
