import torch
from torch.distributions import MultivariateNormal


def fall_nll(log_weight, mean, factor, steps, spin_up=8):
    """Negative log likelihood of the displacements; the tumbling frames at the start count half."""
    covariance = factor @ factor.transpose(-1, -2)
    modes = MultivariateNormal(mean, covariance_matrix=covariance)
    nll = -torch.logsumexp(log_weight + modes.log_prob(steps[:, :, None]), 2)
    counts = torch.ones(steps.shape[1])
    counts[:spin_up] = 0.5
    return (nll * counts).sum() / (counts.sum() * len(steps))


@torch.no_grad()
def landing_error(log_weight, mean, steps):
    """Distance between where the expected and the true displacements end."""
    expected = (log_weight.exp()[..., None] * mean).sum(2)
    return (expected.sum(1) - steps.sum(1)).norm(dim=1).mean()
