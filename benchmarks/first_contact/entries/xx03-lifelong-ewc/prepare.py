"""Writes data/mnist_permutations.pt in the way of data/mnist_permutations.py: 20 tasks, made-up digits (1500 for training, 4000 for test)."""
import torch

torch.manual_seed(0)
base = torch.rand(10, 784)


def digits(n):
    y = torch.randint(0, 10, (n,))
    x = (base[y] * 0.7 + torch.rand(n, 784) * 0.5).clamp(0, 1)
    return x * (torch.rand(n, 784) < 0.6), y


x_tr, y_tr = digits(1500)
x_te, y_te = digits(4000)
tasks_tr, tasks_te = [], []
for t in range(20):
    p = torch.randperm(784)
    tasks_tr.append(["random permutation", x_tr.index_select(1, p), y_tr])
    tasks_te.append(["random permutation", x_te.index_select(1, p), y_te])
torch.save([tasks_tr, tasks_te], "data/mnist_permutations.pt")
