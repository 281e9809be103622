"""Find the conductances of a resistor network from potentials measured at every node, with LBFGS."""
import time

import torch

JUNCTIONS, LINKS, SOURCES, ROUNDS = 1000, 3000, 48, 800


class Network:
    """Junctions joined by random links; every junction leaks a little to earth."""

    def __init__(self, n, links):
        pairs = torch.randint(n, (2, 2 * links)).sort(dim=0).values
        pairs = torch.unique(pairs[:, pairs[0] < pairs[1]], dim=1)
        self.i, self.j = pairs[:, torch.randperm(pairs.shape[1])[:links]]
        self.n, self.leak = n, 0.05

    def laplacian(self, k):
        matrix = torch.zeros(self.n, self.n)
        matrix[self.i, self.j] = -k
        matrix[self.j, self.i] = -k
        total = torch.full((self.n,), self.leak).index_add_(0, self.i, k).index_add_(0, self.j, k)
        matrix.diagonal().copy_(total)
        return matrix.T  # symmetric, and in the order in which LAPACK reads


class Potentials(torch.autograd.Function):
    """Solve L(k) u = f; the backward pass is one adjoint solve with the same factor (L is symmetric)."""

    @staticmethod
    def forward(ctx, k, net, f):
        factor, pivots = torch.linalg.lu_factor(net.laplacian(k))
        u = torch.linalg.lu_solve(factor, pivots, f)
        ctx.net = net
        ctx.save_for_backward(factor, pivots, u)
        return u

    @staticmethod
    def backward(ctx, grad):
        factor, pivots, u = ctx.saved_tensors
        i, j = ctx.net.i, ctx.net.j
        adjoint = torch.linalg.lu_solve(factor, pivots, grad)
        return -((adjoint[i] - adjoint[j]) * (u[i] - u[j])).sum(1), None, None


def main():
    torch.manual_seed(12)
    net = Network(JUNCTIONS, LINKS)
    f = torch.zeros(net.n, SOURCES)
    f[torch.randperm(net.n)[:SOURCES], torch.arange(SOURCES)] = 1.0
    wear = 0.6 * torch.randn(net.n)
    k_true = (wear[net.i] + wear[net.j]).exp()
    measured = Potentials.apply(k_true, net, f)
    measured = measured * (1 + 0.002 * torch.randn_like(measured))
    scale = measured.std()

    log_k = torch.zeros_like(k_true, requires_grad=True)
    optimizer = torch.optim.LBFGS([log_k], max_iter=2, history_size=12, tolerance_grad=1e-12,
                                  tolerance_change=1e-12, line_search_fn="strong_wolfe")
    evaluations = 0

    def closure():
        nonlocal evaluations
        evaluations += 1
        optimizer.zero_grad()
        u = Potentials.apply(log_k.exp(), net, f)
        loss = (((u - measured) / scale) ** 2).mean() + 1e-3 * log_k.square().mean()
        loss.backward()
        return loss

    began = time.time()
    for step in range(1, ROUNDS + 1):
        loss = optimizer.step(closure)
        if step % 20 == 0:
            with torch.no_grad():
                error = (log_k - k_true.log()).abs().mean().item()
            print(f"round {step}: loss {loss.item():.3e}  mean error of log k {error:.4f}  "
                  f"{evaluations} solves  {time.time() - began:.0f}s")


if __name__ == "__main__":
    main()
