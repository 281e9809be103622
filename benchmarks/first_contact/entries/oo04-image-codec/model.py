import torch
import torch.nn.functional as F
from torch import nn

from layers import GDN, FactorizedPrior, down, gaussian_likelihood, up


class HyperpriorCodec(nn.Module):
    def __init__(self, n=48, m=72):
        super().__init__()
        self.analysis = nn.Sequential(down(3, n), GDN(n), down(n, n), GDN(n), down(n, n), GDN(n), down(n, m))
        self.synthesis = nn.Sequential(
            up(m, n), GDN(n, True), up(n, n), GDN(n, True), up(n, n), GDN(n, True), up(n, 3)
        )
        self.hyper_analysis = nn.Sequential(
            nn.Conv2d(m, n, 3, padding=1), nn.LeakyReLU(inplace=True), down(n, n), nn.LeakyReLU(inplace=True), down(n, n)
        )
        self.hyper_synthesis = nn.Sequential(
            up(n, n), nn.LeakyReLU(inplace=True), up(n, n), nn.LeakyReLU(inplace=True), nn.Conv2d(n, 2 * m, 3, padding=1)
        )
        self.prior = FactorizedPrior(n)

    def quantise(self, x):
        return x + torch.empty_like(x).uniform_(-0.5, 0.5) if self.training else x.round()

    def forward(self, x):
        y = self.analysis(x)
        z = self.quantise(self.hyper_analysis(y))
        mean, scale = self.hyper_synthesis(z).chunk(2, dim=1)
        scale = F.softplus(scale).clamp_min(0.11)
        y_hat = self.quantise(y) if self.training else (y - mean).round() + mean
        return self.synthesis(y_hat), gaussian_likelihood(y_hat, mean, scale), self.prior.likelihood(z)


def channels_last(model):
    for module in model.modules():
        if isinstance(module, (nn.Conv2d, nn.ConvTranspose2d)):
            module.to(memory_format=torch.channels_last)
    return model


def rate_distortion(x, output, lam):
    x_hat, py, pz = output
    pixels = x.shape[0] * x.shape[2] * x.shape[3]
    bpp = -(py.log2().sum() + pz.log2().sum()) / pixels
    mse = F.mse_loss(x_hat, x)
    return lam * 255**2 * mse + bpp, bpp, mse
