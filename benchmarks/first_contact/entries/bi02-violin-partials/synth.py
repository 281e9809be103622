"""Harmonic oscillator bank, filtered noise and a room, all differentiable."""
import math

import torch
from torch import nn
import torch.nn.functional as F


def upsample(x, hop):
    """(batch, frames, channels) -> (batch, channels, frames * hop), linear between frames."""
    return F.interpolate(x.transpose(1, 2).contiguous(), scale_factor=hop, mode="linear", align_corners=False)


def fft_convolve(signal, kernel):
    """Full linear convolution over the last axis."""
    n = signal.shape[-1] + kernel.shape[-1] - 1
    return torch.fft.irfft(torch.fft.rfft(signal, n=n) * torch.fft.rfft(kernel, n=n), n=n)


class HarmonicBank(nn.Module):
    def __init__(self, rate, hop, n_harmonics):
        super().__init__()
        self.rate, self.hop = rate, hop
        self.register_buffer("order", torch.arange(1, n_harmonics + 1, dtype=torch.float32))

    def forward(self, f0, amplitude, distribution):
        """f0, amplitude: (batch, frames, 1); distribution: (batch, frames, n_harmonics)."""
        audible = (f0 * self.order < self.rate / 2).float()
        distribution = distribution * audible
        distribution = distribution / distribution.sum(-1, keepdim=True).clamp_min(1e-6)
        pitch = upsample(f0, self.hop)
        weights = upsample(amplitude * distribution, self.hop)
        turns = torch.cumsum(pitch.double() / self.rate, dim=-1)
        phase = (2 * math.pi * (turns % 1.0)).float()
        return (torch.sin(phase * self.order.unsqueeze(1)) * weights).sum(1)


class FilteredNoise(nn.Module):
    def __init__(self, hop, n_bands):
        super().__init__()
        self.hop = hop
        self.register_buffer("window", torch.hann_window(2 * (n_bands - 1)))

    def forward(self, bands):
        taps = torch.fft.fftshift(torch.fft.irfft(bands), dim=-1) * self.window
        batch, frames, n_taps = taps.shape
        noise = torch.rand(batch, frames, self.hop) * 2 - 1
        size = 512
        pieces = torch.fft.irfft(torch.fft.rfft(noise, n=size) * torch.fft.rfft(taps, n=size), n=size)
        pieces = pieces[..., : self.hop + n_taps - 1].transpose(1, 2)
        total = (frames - 1) * self.hop + self.hop + n_taps - 1
        out = F.fold(pieces, (1, total), (1, self.hop + n_taps - 1), stride=(1, self.hop))
        return out.reshape(batch, total)[:, : frames * self.hop]


class Room(nn.Module):
    """One learned impulse response for the whole recording."""

    def __init__(self, length):
        super().__init__()
        decay = torch.exp(-torch.arange(length) / (length / 6.0))
        self.tail = nn.Parameter(torch.randn(length) * decay * 1e-2)

    def forward(self, dry):
        return dry + fft_convolve(dry, self.tail)[..., : dry.shape[-1]]


class SpectralLoss(nn.Module):
    def __init__(self, sizes=(2048, 1024, 512, 256, 128)):
        super().__init__()
        self.sizes = sizes

    def spectrum(self, x, size):
        window = torch.hann_window(size, device=x.device)
        return torch.stft(x, size, size // 4, window=window, center=True, return_complex=True).abs()

    def forward(self, made, real):
        loss = 0.0
        for size in self.sizes:
            a, b = self.spectrum(made, size), self.spectrum(real, size)
            loss = loss + (a - b).abs().mean() + (torch.log(a + 1e-5) - torch.log(b + 1e-5)).abs().mean()
        return loss
