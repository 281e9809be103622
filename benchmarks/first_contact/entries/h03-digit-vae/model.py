import torch
import torch.nn as nn
import torch.nn.functional as F


class VAE(nn.Module):
    """Fully connected variational autoencoder over flattened images."""

    def __init__(self, pixels, hidden=512, latent=24):
        super().__init__()
        self.latent = latent
        self.encoder = nn.Sequential(
            nn.Linear(pixels, hidden), nn.ReLU(inplace=True), nn.Linear(hidden, hidden), nn.ReLU(inplace=True), nn.Linear(hidden, 2 * latent))
        self.decoder = nn.Sequential(
            nn.Linear(latent, hidden), nn.ReLU(inplace=True), nn.Linear(hidden, hidden), nn.ReLU(inplace=True), nn.Linear(hidden, pixels))

    def forward(self, x):
        mu, logvar = self.encoder(x).chunk(2, dim=1)
        if self.training:
            z = mu + torch.randn_like(mu) * (0.5 * logvar).exp()
        else:
            z = mu
        return self.decoder(z), mu, logvar

    def sample(self, n):
        return self.decoder(torch.randn(n, self.latent)).sigmoid()


def elbo_terms(logits, x, mu, logvar):
    reconstruction = F.binary_cross_entropy_with_logits(logits, x, reduction="sum") / len(x)
    kl = 0.5 * (mu.square() + logvar.exp() - 1 - logvar).sum() / len(x)
    return reconstruction, kl
