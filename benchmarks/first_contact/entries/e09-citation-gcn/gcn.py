"""Semi-supervised node classification on a synthetic citation graph (Kipf & Welling style)."""
import torch
import torch.nn as nn
import torch.nn.functional as F

NODES, CLASSES, FEATURES, HIDDEN = 1600, 6, 256, 48
EPOCHS = 800


def citation_graph(seed=0):
    g = torch.Generator().manual_seed(seed)
    y = torch.randint(0, CLASSES, (NODES,), generator=g)
    same = torch.rand(NODES * 4, generator=g) < 0.75
    src = torch.randint(0, NODES, (NODES * 4,), generator=g)
    any_dst = torch.randint(0, NODES, (NODES * 4,), generator=g)
    by_class = [torch.where(y == c)[0] for c in range(CLASSES)]
    kin_dst = torch.stack([by_class[c][torch.randint(0, len(by_class[c]), (1,), generator=g)][0]
                           for c in y[src].tolist()])
    dst = torch.where(same, kin_dst, any_dst)
    topic = torch.rand(CLASSES, FEATURES, generator=g) < 0.08
    x = ((torch.rand(NODES, FEATURES, generator=g) < 0.03)
         | (topic[y] & (torch.rand(NODES, FEATURES, generator=g) < 0.15))).float()
    adj = torch.zeros(NODES, NODES)
    adj[src, dst] = 1.0
    adj[dst, src] = 1.0
    adj.fill_diagonal_(0)
    order = torch.randperm(NODES, generator=g)
    return x, adj, y, order[:240], order[240:640], order[640:]


class GraphConvolution(nn.Module):
    def __init__(self, n_in, n_out):
        super().__init__()
        self.linear = nn.Linear(n_in, n_out)

    def forward(self, x, adj):
        a = adj + torch.eye(adj.size(0))
        d = a.sum(dim=1).pow(-0.5)
        a = d.unsqueeze(1) * a * d.unsqueeze(0)
        return a @ self.linear(x)


class GCN(nn.Module):
    def __init__(self):
        super().__init__()
        self.gc1 = GraphConvolution(FEATURES, HIDDEN)
        self.gc2 = GraphConvolution(HIDDEN, HIDDEN)
        self.gc3 = GraphConvolution(HIDDEN, CLASSES)

    def forward(self, x, adj):
        x = F.dropout(F.relu(self.gc1(x, adj)), 0.5, self.training)
        x = F.dropout(F.relu(self.gc2(x, adj)), 0.5, self.training)
        return self.gc3(x, adj)


def main():
    torch.manual_seed(0)
    x, adj, y, train_idx, val_idx, test_idx = citation_graph()
    model = GCN()
    optimizer = torch.optim.SGD(model.parameters(), lr=0.5, momentum=0.9, weight_decay=5e-4)
    best_val, test_at_best = 0.0, 0.0
    for epoch in range(1, EPOCHS + 1):
        model.train()
        loss = F.cross_entropy(model(x, adj)[train_idx], y[train_idx])
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
        if epoch % 20 == 0:
            model.eval()
            with torch.no_grad():
                pred = model(x, adj).argmax(1)
            val = (pred[val_idx] == y[val_idx]).float().mean().item()
            if val > best_val:
                best_val = val
                test_at_best = (pred[test_idx] == y[test_idx]).float().mean().item()
        if epoch % 100 == 0:
            print(f"epoch {epoch}: loss {loss.item():.4f} best val {best_val:.4f} test {test_at_best:.4f}")


if __name__ == "__main__":
    main()
