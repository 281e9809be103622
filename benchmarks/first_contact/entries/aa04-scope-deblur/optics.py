"""Image formation of a wide-field microscope that records every field at several focal planes."""
import torch
from torch import nn


def defocused_psf(size, sigma, ring):
    """Point spread function on the full frame, centred at the origin."""
    at = torch.arange(size) - size // 2
    y, x = torch.meshgrid(at, at, indexing="ij")
    r = torch.sqrt(x.float() ** 2 + y.float() ** 2)
    psf = torch.exp(-0.5 * (r / sigma) ** 2) + 0.35 * torch.exp(-0.5 * ((r - ring) / 1.2) ** 2)
    psf = psf / psf.sum()
    return torch.fft.ifftshift(psf)


class Microscope(nn.Module):
    def __init__(self, size, planes=8, photons=60.0):
        super().__init__()
        psfs = torch.stack([defocused_psf(size, 1.2 + 0.3 * i, 2.0 + 0.9 * i) for i in range(planes)])
        self.register_buffer("transfer", torch.fft.fft2(psfs))
        self.photons = photons
        self.planes = planes

    def blur(self, images):
        """Focal stacks (batch, planes, size, size) of images (batch, 1, size, size)."""
        spectrum = torch.fft.fft2(images) * self.transfer
        return torch.fft.ifft2(spectrum).real

    @torch.no_grad()
    def expose(self, images):
        rate = self.blur(images).clamp_min(0) + 0.05
        return rate + torch.randn_like(rate) * (rate / self.photons).sqrt_()
