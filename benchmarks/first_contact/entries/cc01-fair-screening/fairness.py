"""Dependence between a representation and the protected attributes.

HSIC with Gaussian kernels, biased estimator, see Gretton et al. (2005):
    HSIC(Z, S) = tr(K H L H) / (n - 1)^2
"""
import torch


def squared_distances(x):
    norms = (x * x).sum(1)
    return (norms[:, None] + norms[None, :] - 2 * x @ x.t()).clamp_min(0)


def gaussian_kernel(x, bandwidth):
    return torch.exp(-squared_distances(x) / (2 * bandwidth * bandwidth))


def hsic(z, s, bandwidth_z, bandwidth_s):
    n = z.shape[0]
    k = gaussian_kernel(z, bandwidth_z)
    l = gaussian_kernel(s, bandwidth_s)
    h = torch.eye(n) - torch.ones(n, n) / n
    return torch.trace(k @ h @ l @ h) / (n - 1) ** 2


def parity_gap(scores, protected):
    """Difference between the mean scores of the two groups."""
    first = protected[:, 1] > 0
    return (scores[first].mean() - scores[~first].mean()).abs().item()
