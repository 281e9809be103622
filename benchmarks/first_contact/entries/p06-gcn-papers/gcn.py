import argparse
import time

import torch
import torch.nn as nn
import torch.nn.functional as F


def make_graph(n, classes, feats, seed):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, classes, (n,), generator=g)
    p = torch.where(y[:, None] == y[None, :], 0.01, 0.001)
    adj = (torch.rand(n, n, generator=g) < p).float()
    adj = ((adj + adj.t()) > 0).float()
    adj.fill_diagonal_(0)
    x = torch.randn(classes, feats, generator=g)[y] + 3 * torch.randn(n, feats, generator=g)
    return x, adj, y


def normalize(adj):
    a = adj + torch.eye(adj.size(0))
    d = a.sum(1).pow(-0.5)
    return torch.diag(d) @ a @ torch.diag(d)


class GraphConv(nn.Module):
    def __init__(self, i, o):
        super().__init__()
        self.lin = nn.Linear(i, o, bias=False)
        self.bias = nn.Parameter(torch.zeros(o))

    def forward(self, x, adj):
        return normalize(adj) @ self.lin(x) + self.bias


class GCN(nn.Module):
    def __init__(self, i, h, o, p):
        super().__init__()
        self.c1, self.c2, self.p = GraphConv(i, h), GraphConv(h, o), p

    def forward(self, x, adj):
        x = F.dropout(F.relu(self.c1(x, adj)), self.p, self.training)
        return F.log_softmax(self.c2(x, adj), 1)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--epochs", type=int, default=60)
    ap.add_argument("--nodes", type=int, default=500)
    ap.add_argument("--hidden", type=int, default=512)
    ap.add_argument("--feats", type=int, default=1024)
    ap.add_argument("--lr", type=float, default=0.01)
    a = ap.parse_args()
    torch.manual_seed(5)
    x, adj, y = make_graph(a.nodes, 6, a.feats, 5)
    perm = torch.randperm(a.nodes)
    tr, va = perm[: a.nodes // 2], perm[a.nodes // 2:]
    model = GCN(a.feats, a.hidden, 6, 0.5)
    opt = torch.optim.Adam(model.parameters(), lr=a.lr, weight_decay=5e-4)
    best = 0.0
    for epoch in range(1, a.epochs + 1):
        t = time.time()
        model.train()
        opt.zero_grad()
        out = model(x, adj)
        loss = F.nll_loss(out[tr], y[tr])
        loss.backward()
        opt.step()

        model.eval()
        out = model(x, adj)
        acc = (out[va].argmax(1) == y[va]).float().mean().item()
        best = max(best, acc)
        if epoch % 10 == 0:
            print(f"Epoch {epoch:04d} loss {loss.item():.4f} acc_val {acc:.4f} best {best:.4f} time {time.time() - t:.4f}s")


if __name__ == "__main__":
    main()
