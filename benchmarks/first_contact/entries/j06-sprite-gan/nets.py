import torch
from torch import nn


def weights_init(m):
    if isinstance(m, (nn.Conv2d, nn.ConvTranspose2d)):
        nn.init.normal_(m.weight, 0.0, 0.02)
    elif isinstance(m, nn.BatchNorm2d):
        nn.init.normal_(m.weight, 1.0, 0.02)
        nn.init.zeros_(m.bias)


class Generator(nn.Module):
    def __init__(self, latent=64, width=32):
        super().__init__()
        self.latent = latent
        self.start = nn.Linear(latent, 4 * width * 16)
        self.body = nn.Sequential(
            nn.BatchNorm2d(4 * width), nn.ReLU(True),
            nn.ConvTranspose2d(4 * width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.ReLU(True),
            nn.ConvTranspose2d(2 * width, width, 4, 2, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU(True),
            nn.ConvTranspose2d(width, 3, 4, 2, 1), nn.Tanh())
        self.apply(weights_init)

    def forward(self, z):
        return self.body(self.start(z).view(len(z), -1, 4, 4).contiguous(memory_format=torch.channels_last))

    def noise(self, n):
        return torch.randn(n, self.latent)


class Discriminator(nn.Module):
    def __init__(self, width=32):
        super().__init__()
        self.body = nn.Sequential(
            nn.Conv2d(3, width, 4, 2, 1), nn.LeakyReLU(0.2, True),
            nn.Conv2d(width, 2 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(2 * width), nn.LeakyReLU(0.2, True),
            nn.Conv2d(2 * width, 4 * width, 4, 2, 1, bias=False), nn.BatchNorm2d(4 * width), nn.LeakyReLU(0.2, True),
            nn.Flatten(), nn.Linear(4 * width * 16, 1))
        self.apply(weights_init)

    def forward(self, x):
        return self.body(x.contiguous(memory_format=torch.channels_last)).squeeze(1)
