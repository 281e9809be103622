import torch
import torch.nn as nn
import torch.nn.functional as F


def mlp(*sizes):
    layers = []
    for a, b in zip(sizes, sizes[1:]):
        layers += [nn.Linear(a, b), nn.ReLU(inplace=True)]
    return nn.Sequential(*layers[:-1])


class FlakeVAE(nn.Module):
    def __init__(self, pixels, width=768, latent=24):
        super().__init__()
        self.encoder = mlp(pixels, width, width, 2 * latent)
        self.decoder = mlp(latent, width, width, pixels)

    def forward(self, x):
        mu, log_var = self.encoder(x).chunk(2, dim=1)
        z = mu + torch.randn_like(mu) * torch.exp(0.5 * log_var) if self.training else mu
        return self.decoder(z), mu, log_var


def negative_elbo(outputs, x, beta=1.0):
    """The loss with its two parts, each per picture."""
    logits, mu, log_var = outputs
    n = x.shape[0]
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / n
    divergence = 0.5 * (mu.square() + log_var.exp() - 1.0 - log_var).sum() / n
    return reconstruction + beta * divergence, reconstruction, divergence
