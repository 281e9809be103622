# Graph attention on a random geometric graph, sparse edge list, no extra libraries
import argparse, time
import torch
import torch.nn as nn
import torch.nn.functional as F

ap = argparse.ArgumentParser()
ap.add_argument('--nodes', type=int, default=1500)
ap.add_argument('--hidden', type=int, default=16)
ap.add_argument('--heads', type=int, default=4)
ap.add_argument('--epochs', type=int, default=1800)
ap.add_argument('--lr', type=float, default=5e-3)
ap.add_argument('--seed', type=int, default=5)
a = ap.parse_args()
torch.manual_seed(a.seed)


def geometric(n, radius=0.045, classes=5):
    pos = torch.rand(n, 2)
    d = torch.cdist(pos, pos)
    src, dst = (d < radius).nonzero(as_tuple=True)
    order = dst.argsort()
    y = ((pos[:, 0] * 3).floor() + (pos[:, 1] * 2).floor() * 2).long() % classes
    x = F.one_hot(y, classes).float() * (torch.rand(n, 1) < 0.3) + 0.5 * torch.randn(n, classes)
    x = torch.cat([x, torch.randn(n, 27)], 1)
    return x, torch.stack([src[order], dst[order]]), y


class GATConv(nn.Module):
    def __init__(self, i, o, heads, concat=True):
        super().__init__()
        self.h, self.o, self.concat = heads, o, concat
        self.lin = nn.Linear(i, heads * o, bias=False)
        self.a_src = nn.Parameter(torch.randn(heads, o) / o ** 0.5)
        self.a_dst = nn.Parameter(torch.randn(heads, o) / o ** 0.5)

    def forward(self, x, edge):
        src, dst = edge
        n = x.size(0)
        z = self.lin(x).view(n, self.h, self.o)
        s, t = (z * self.a_src).sum(-1), (z * self.a_dst).sum(-1)
        e = F.leaky_relu(s.index_select(0, src) + t.index_select(0, dst), 0.2)
        e = (e - e.detach().max()).exp()
        denom = e.new_zeros(n, self.h).index_add_(0, dst, e)
        out = z.new_zeros(n, self.h, self.o).index_add_(0, dst, z.index_select(0, src) * e.unsqueeze(-1))
        out = out / (denom.unsqueeze(-1) + 1e-9)
        return out.flatten(1) if self.concat else out.mean(1)


class GAT(nn.Module):
    def __init__(self, d, hidden, heads, classes):
        super().__init__()
        self.c1 = GATConv(d, hidden, heads)
        self.c2 = GATConv(hidden * heads, classes, heads, concat=False)

    def forward(self, x, edge):
        x = F.elu(self.c1(F.dropout(x, 0.3, self.training), edge))
        return self.c2(F.dropout(x, 0.3, self.training), edge)


x, edge, y = geometric(a.nodes)
perm = torch.randperm(a.nodes)
train, val = perm[:300], perm[300:700]
net = GAT(x.size(1), a.hidden, a.heads, 5)
opt = torch.optim.Adam(net.parameters(), lr=a.lr, weight_decay=5e-4)
print(f'{a.nodes} nodes, {edge.size(1)} edges, {sum(p.numel() for p in net.parameters())} weights')
best, t0 = 0.0, time.time()
for epoch in range(1, a.epochs + 1):
    net.train()
    opt.zero_grad()
    loss = F.cross_entropy(net(x, edge)[train], y[train])
    loss.backward()
    opt.step()
    if epoch % 25 == 0:
        net.eval()
        with torch.no_grad():
            acc = (net(x, edge)[val].argmax(1) == y[val]).float().mean().item()
        if acc > best:
            best = acc
            torch.save(net.state_dict(), 'gat_best.pt')
        print(f'epoch {epoch:4d} loss {loss.item():.4f} val {acc:.3f} best {best:.3f} {(time.time() - t0) / epoch * 1e3:.1f} ms/epoch')
