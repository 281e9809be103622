"""A sparse variational Gaussian process with whitened inducing values."""
import math

import torch
from torch import nn

JITTER = 1e-8


class SquaredExponential(nn.Module):
    def __init__(self, inputs, scale):
        super().__init__()
        self.log_scale = nn.Parameter(torch.full((inputs,), math.log(scale)))
        self.log_variance = nn.Parameter(torch.zeros(()))

    def forward(self, a, b):
        a, b = a * torch.exp(-self.log_scale), b * torch.exp(-self.log_scale)
        half = 0.5 * a.square().sum(-1)
        exponent = torch.addmm(self.log_variance - half[:, None], a, b.T)
        return torch.exp(exponent - 0.5 * b.square().sum(-1))

    def diagonal(self):
        return self.log_variance.exp()


class SparseGP(nn.Module):
    def __init__(self, inducing, scale=0.15, noise=0.1):
        super().__init__()
        count = len(inducing)
        self.kernel = SquaredExponential(inducing.shape[1], scale)
        self.inducing = nn.Parameter(inducing.clone())
        self.mean = nn.Parameter(torch.zeros(count))
        self.root = nn.Parameter(torch.eye(count))
        self.log_noise = nn.Parameter(torch.tensor(2 * math.log(noise)))
        self.register_buffer("jitter", JITTER * torch.eye(count))

    def forward(self, x):
        """Mean and variance of the latent function at x."""
        root = torch.linalg.cholesky(self.kernel(self.inducing, self.inducing) + self.jitter)
        white = torch.linalg.solve_triangular(root.mT, self.kernel(x, self.inducing), upper=True, left=False)
        projected = white @ self.root.tril()
        variance = self.kernel.diagonal() + (projected.square() - white.square()).sum(1)
        return white @ self.mean, variance

    def divergence(self):
        """KL of the whitened inducing values from their standard normal prior."""
        root = self.root.tril()
        log_det = root.diagonal().abs().log().sum()
        return 0.5 * (root.square().sum() + self.mean.square().sum() - len(self.mean)) - log_det

    def bound(self, x, y, total):
        """Negative evidence bound for each data point, estimated from a batch."""
        mean, variance = self(x)
        noise = self.log_noise.exp()
        fit = 0.5 * (math.log(2 * math.pi) + self.log_noise + ((y - mean).square() + variance) / noise).mean()
        return fit + self.divergence() / total
