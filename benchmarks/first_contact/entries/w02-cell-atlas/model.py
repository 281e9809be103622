import torch
from torch import nn
from torch.distributions import NegativeBinomial
import torch.nn.functional as F


def tower(inputs, hidden):
    return nn.Sequential(
        nn.Linear(inputs, hidden), nn.LayerNorm(hidden), nn.ReLU(),
        nn.Linear(hidden, hidden), nn.LayerNorm(hidden), nn.ReLU(),
    )


class CellVAE(nn.Module):
    """Variational autoencoder with a negative binomial likelihood and runs as a covariate."""

    def __init__(self, genes, batches, hidden=128, latent=10):
        super().__init__()
        self.batches = batches
        self.encoder = tower(genes + batches, hidden)
        self.to_mean = nn.Linear(hidden, latent)
        self.to_scale = nn.Linear(hidden, latent)
        self.decoder = tower(latent + batches, hidden)
        self.to_rate = nn.Linear(hidden, genes)
        self.log_dispersion = nn.Parameter(torch.zeros(genes))

    def encode(self, counts, run):
        hidden = self.encoder(torch.cat([torch.log1p(counts), run], dim=1))
        return self.to_mean(hidden), F.softplus(self.to_scale(hidden)) + 1e-4

    def decode(self, z, run, library):
        share = F.log_softmax(self.to_rate(self.decoder(torch.cat([z, run], dim=1))), dim=1)
        log_rate = share + library.log()
        return NegativeBinomial(total_count=self.log_dispersion.exp(), logits=log_rate - self.log_dispersion)

    def forward(self, counts, batch):
        """Reconstruction and divergence, both as means over the cells."""
        run = F.one_hot(batch, self.batches).to(counts.dtype)
        library = counts.sum(1, keepdim=True)
        mean, scale = self.encode(counts, run)
        z = mean + scale * torch.randn_like(scale) if self.training else mean
        likelihood = self.decode(z, run, library)
        reconstruction = -likelihood.log_prob(counts).sum(1).mean()
        divergence = 0.5 * (mean.square() + scale.square() - 1).sum(1) - scale.log().sum(1)
        return reconstruction, divergence.mean()
