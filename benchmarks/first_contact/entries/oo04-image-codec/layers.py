import torch
import torch.nn.functional as F
from torch import nn


class GDN(nn.Module):
    """Generalised divisive normalisation; parameters kept positive through a square."""

    def __init__(self, channels, inverse=False):
        super().__init__()
        self.inverse = inverse
        self.beta = nn.Parameter(torch.ones(channels))
        self.gamma = nn.Parameter(0.316 * torch.eye(channels) + 1e-3)

    def forward(self, x):
        gamma = self.gamma.square().unsqueeze(-1).unsqueeze(-1)
        norm = F.conv2d(x.square(), gamma, self.beta.square() + 1e-6)
        return x * (norm.sqrt() if self.inverse else norm.rsqrt())


def down(cin, cout, kernel=5):
    return nn.Conv2d(cin, cout, kernel, stride=2, padding=kernel // 2)


def up(cin, cout, kernel=5):
    return nn.ConvTranspose2d(cin, cout, kernel, stride=2, padding=kernel // 2, output_padding=1)


class FactorizedPrior(nn.Module):
    """Density of the side information: a mixture of logistics for every channel."""

    def __init__(self, channels, components=3):
        super().__init__()
        shape = (1, channels, 1, 1, components)
        self.mean = nn.Parameter(torch.linspace(-2, 2, components).expand(shape).clone())
        self.log_scale = nn.Parameter(torch.zeros(shape))
        self.logit = nn.Parameter(torch.zeros(shape))

    def likelihood(self, z):
        z = z.unsqueeze(-1)
        inv = torch.exp(-self.log_scale)
        upper = torch.sigmoid((z + 0.5 - self.mean) * inv)
        lower = torch.sigmoid((z - 0.5 - self.mean) * inv)
        return ((upper - lower) * torch.softmax(self.logit, dim=-1)).sum(dim=-1).clamp_min(1e-9)


def gaussian_likelihood(y, mean, scale):
    values = (y - mean).abs()
    return (torch.special.ndtr((0.5 - values) / scale) - torch.special.ndtr((-0.5 - values) / scale)).clamp_min(1e-9)
