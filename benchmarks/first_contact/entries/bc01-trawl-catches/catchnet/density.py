import torch
from torch import nn
from torch.distributions import MultivariateNormal


class MixtureHead(nn.Module):
    def __init__(self, width, species, components):
        super().__init__()
        self.species, self.components = species, components
        self.weight = nn.Linear(width, components)
        self.mean = nn.Linear(width, components * species)
        self.spread = nn.Linear(width, components * species)

    def forward(self, h):
        shape = (*h.shape[:-1], self.components, self.species)
        variance = nn.functional.softplus(self.spread(h)).view(shape) + 1e-3
        return self.weight(h).log_softmax(-1), self.mean(h).view(shape), variance


def mixture_nll(log_weight, mean, variance, catch):
    spread = MultivariateNormal(mean, covariance_matrix=torch.diag_embed(variance))
    log_prob = spread.log_prob(catch.unsqueeze(-2))
    return -torch.logsumexp(log_weight + log_prob, dim=-1).mean()


@torch.no_grad()
def point_estimate(log_weight, mean):
    return (log_weight.exp().unsqueeze(-1) * mean).sum(-2)
