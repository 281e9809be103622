import torch
import torch.nn as nn


def fft2c(x):
    x = torch.fft.ifftshift(x, dim=(-2, -1))
    x = torch.fft.fft2(x, norm="ortho")
    return torch.fft.fftshift(x, dim=(-2, -1))


def ifft2c(x):
    x = torch.fft.ifftshift(x, dim=(-2, -1))
    x = torch.fft.ifft2(x, norm="ortho")
    return torch.fft.fftshift(x, dim=(-2, -1))


class Regulariser(nn.Module):
    def __init__(self, width):
        super().__init__()
        self.net = nn.Sequential(
            nn.Conv2d(2, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, width, 3, padding=1),
            nn.ReLU(),
            nn.Conv2d(width, 2, 3, padding=1),
        )

    def forward(self, x):
        planes = torch.stack([x.real, x.imag], dim=1).float()
        planes = self.net(planes)
        return torch.complex(planes[:, 0], planes[:, 1])


class UnrolledNet(nn.Module):
    """Proximal gradient steps with learned step sizes and regularisers."""

    def __init__(self, cascades=3, width=16):
        super().__init__()
        self.regularisers = nn.ModuleList([Regulariser(width) for _ in range(cascades)])
        self.steps = nn.Parameter(torch.full((cascades,), 0.5))

    def forward(self, kspace, mask):
        x = ifft2c(kspace)
        for k, reg in enumerate(self.regularisers):
            residual = mask * fft2c(x) - kspace
            x = x - self.steps[k] * ifft2c(mask * residual) - reg(x)
        return x
