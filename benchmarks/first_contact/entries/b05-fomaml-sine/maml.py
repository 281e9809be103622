"""First-order MAML (FOMAML) on sine waves (meta learning seminar).

    python maml.py --iterations 400
"""
import argparse
import math

import torch
import torch.nn.functional as F


class SineTasks:
    def __init__(self, k_shot, k_query, seed=0):
        self.k, self.q = k_shot, k_query
        self.g = torch.Generator().manual_seed(seed)

    def sample(self):
        amp = 0.1 + 4.9 * torch.rand(1, generator=self.g)
        phase = math.pi * torch.rand(1, generator=self.g)
        x = -5 + 10 * torch.rand(self.k + self.q, 1, generator=self.g)
        y = amp * torch.sin(x - phase)
        return x[: self.k], y[: self.k], x[self.k :], y[self.k :]


def init_params(sizes, seed=0):
    g = torch.Generator().manual_seed(seed)
    params = []
    for a, b in zip(sizes, sizes[1:]):
        params.append((torch.randn(b, a, generator=g) / math.sqrt(a)).requires_grad_())
        params.append(torch.zeros(b, requires_grad=True))
    return params


def net(x, params):
    n = len(params) // 2
    for i in range(n):
        x = F.linear(x, params[2 * i], params[2 * i + 1])
        if i < n - 1:
            x = torch.tanh(x)
    return x


def adapt(params, x, y, lr, steps):
    """inner loop: returns the fast weights"""
    fast = list(params)
    for _ in range(steps):
        loss = F.mse_loss(net(x, fast), y)
        grads = torch.autograd.grad(loss, fast, create_graph=True)
        fast = [p - lr * g for p, g in zip(fast, grads)]
    return fast


def evaluate(params, args, n_tasks=10):
    tasks, losses = SineTasks(args.shots, 100, seed=12345), []
    for _ in range(n_tasks):
        xs, ys, xq, yq = tasks.sample()
        fast = [p.detach().requires_grad_() for p in params]
        fast = adapt(fast, xs, ys, args.inner_lr, args.inner_steps)
        with torch.no_grad():
            losses.append(F.mse_loss(net(xq, fast), yq).item())
    return sum(losses) / len(losses)


def main():
    ap = argparse.ArgumentParser()
    ap.add_argument("--iterations", type=int, default=800)
    ap.add_argument("--meta-batch", type=int, default=4)
    ap.add_argument("--shots", type=int, default=10)
    ap.add_argument("--query", type=int, default=40)
    ap.add_argument("--inner-steps", type=int, default=5)
    ap.add_argument("--inner-lr", type=float, default=0.01)
    ap.add_argument("--meta-lr", type=float, default=1e-3)
    args = ap.parse_args()

    params = init_params([1, 64, 64, 64, 1])
    opt = torch.optim.Adam(params, lr=args.meta_lr)
    tasks = SineTasks(args.shots, args.query)
    for it in range(1, args.iterations + 1):
        opt.zero_grad()
        total = 0.0
        for _ in range(args.meta_batch):
            xs, ys, xq, yq = tasks.sample()
            fast = adapt(params, xs, ys, args.inner_lr, args.inner_steps)
            loss = F.mse_loss(net(xq, fast), yq)
            grads = torch.autograd.grad(loss, params)
            for p, g in zip(params, grads):
                p.grad = g / args.meta_batch if p.grad is None else p.grad + g / args.meta_batch
            total += loss.item()
        opt.step()
        if it % 25 == 0:
            print(f"iter {it:5d}  query loss {total / args.meta_batch:.4f}  held-out {evaluate(params, args):.4f}")
    torch.save([p.detach() for p in params], "maml_params.pt")


if __name__ == "__main__":
    main()
