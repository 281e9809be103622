"""Full-batch GraphSAGE with mean neighbours on a synthetic community graph."""
import time
import warnings

import torch
import torch.nn as nn
import torch.nn.functional as F

warnings.filterwarnings("ignore", message="Sparse CSR")

NODES, COMMUNITIES, FEATURES, HIDDEN, DEGREE = 6000, 10, 96, 192, 8
EPOCHS, CHECK_EVERY = 800, 25


def community_graph(generator):
    home = torch.randint(COMMUNITIES, (NODES,), generator=generator)
    members = [torch.nonzero(home == c).squeeze(1) for c in range(COMMUNITIES)]
    src = torch.arange(NODES).repeat_interleave(DEGREE)
    dst = torch.randint(NODES, (NODES * DEGREE,), generator=generator)
    inside = torch.rand(NODES * DEGREE, generator=generator) < 0.45
    for c, group in enumerate(members):
        here = inside & (home[src] == c)
        dst[here] = group[torch.randint(len(group), (int(here.sum()),), generator=generator)]
    centres = torch.randn(COMMUNITIES, FEATURES, generator=generator)
    x = 0.25 * centres[home] + torch.randn(NODES, FEATURES, generator=generator)
    edges = torch.cat([torch.stack([src, dst]), torch.stack([dst, src])], 1)
    return x, home, torch.unique(edges[:, edges[0] != edges[1]], dim=1)


class MeanNeighbours(torch.autograd.Function):
    """A @ h for a constant sparse A whose transpose is at hand."""

    @staticmethod
    def forward(ctx, h, adj, adj_t):
        ctx.adj_t = adj_t
        return adj @ h

    @staticmethod
    def backward(ctx, grad):
        return ctx.adj_t @ grad, None, None


class Sage(nn.Module):
    def __init__(self):
        super().__init__()
        self.first = nn.Linear(2 * FEATURES, HIDDEN)
        self.own = nn.Linear(HIDDEN, HIDDEN)
        self.near = nn.Linear(HIDDEN, 64, bias=False)
        self.out_own = nn.Linear(HIDDEN, COMMUNITIES)
        self.out_near = nn.Linear(64, COMMUNITIES, bias=False)

    def forward(self, both, adj, adj_t=None):
        """both: own features beside the mean of the neighbours'; adj: the rows of the nodes to classify, from node 0 on."""
        h = F.relu_(self.first(both))
        near = MeanNeighbours.apply(self.near(h), adj, adj_t)
        own = self.own(h[:adj.shape[0]])
        return self.out_own(F.relu_(own)) + self.out_near(F.relu_(near))


def main():
    generator = torch.Generator().manual_seed(9)
    torch.manual_seed(9)
    x, y, edges = community_graph(generator)
    n_train = NODES * 4 // 5  # the graph is random: the first nodes are as good a sample as any
    y_train, y_val = y[:n_train], y[n_train:]

    weight = 1.0 / torch.bincount(edges[0], minlength=NODES).float()[edges[0]]
    adj = torch.sparse_coo_tensor(edges, weight, (NODES, NODES)).to_sparse_csr()
    labelled = edges[0] < n_train
    train_coo = torch.sparse_coo_tensor(edges[:, labelled], weight[labelled], (n_train, NODES))
    train_adj, train_adj_t = train_coo.to_sparse_csr(), train_coo.t().to_sparse_csr()
    both = torch.cat([x, adj @ x], 1)

    model = Sage()
    opt = torch.optim.Adam(model.parameters(), lr=3e-3, weight_decay=5e-4, fused=True)

    start, best = time.time(), 0.0
    for epoch in range(1, EPOCHS + 1):
        loss = F.cross_entropy(model(both, train_adj, train_adj_t), y_train)
        opt.zero_grad()
        loss.backward()
        opt.step()
        if epoch % CHECK_EVERY == 0:
            with torch.inference_mode():
                acc = (model(both, adj)[n_train:].argmax(1) == y_val).float().mean().item()
            best = max(best, acc)
            print(f"epoch {epoch:4d}  loss {loss.item():.4f}  val {acc:.4f}  best {best:.4f}  {time.time() - start:.1f}s")


if __name__ == "__main__":
    main()
