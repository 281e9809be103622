import torch
import torch.nn as nn
import torch.nn.functional as F


class SpectraVAE(nn.Module):
    def __init__(self, bins=512, hidden=768, latent=16):
        super().__init__()
        self.enc = nn.Sequential(nn.Linear(bins, hidden), nn.ReLU(inplace=True),
                                 nn.Linear(hidden, hidden), nn.ReLU(inplace=True),
                                 nn.Linear(hidden, 2 * latent))
        self.dec = nn.Sequential(nn.Linear(latent, hidden), nn.ReLU(inplace=True),
                                 nn.Linear(hidden, hidden), nn.ReLU(inplace=True),
                                 nn.Linear(hidden, bins))

    def forward(self, x):
        mu, logvar = self.enc(x).chunk(2, dim=1)
        z = torch.addcmul(mu, torch.randn_like(mu), (0.5 * logvar).exp()) if self.training else mu
        return self.dec(z), mu, logvar


def elbo_terms(recon, x, mu, logvar, sigma=0.3):
    """reconstruction and KL, per example"""
    rec = F.mse_loss(recon, x, reduction="sum") / (2 * sigma ** 2 * len(x))
    kl = 0.5 * (mu.square() + logvar.exp() - 1 - logvar).sum() / len(x)
    return rec, kl
