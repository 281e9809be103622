import numpy as np
import torch
from torch import nn


class SpectralLoss(nn.Module):
    """Magnitude distance at several window lengths (linear and log)."""

    def __init__(self, sizes=(256, 512, 1024), floor=1e-5):
        super().__init__()
        self.sizes = sizes
        self.floor = floor
        for size in sizes:
            self.register_buffer(f"window_{size}", torch.from_numpy(np.hanning(size)))

    def magnitude(self, wave, size):
        window = getattr(self, f"window_{size}")
        frames = wave.unfold(-1, size, size // 4) * window
        spectrum = torch.fft.rfft(frames)
        return torch.sqrt(spectrum.real ** 2 + spectrum.imag ** 2 + self.floor)

    def forward(self, estimate, target):
        total = 0.0
        for size in self.sizes:
            a = self.magnitude(estimate, size)
            with torch.no_grad():
                b = self.magnitude(target, size)
            total = total + (a - b).abs().mean() + (a.log() - b.log()).abs().mean()
        return total / len(self.sizes)


def si_sdr(estimate, target):
    """Scale-invariant signal to distortion ratio in dB, one number a row."""
    scale = (estimate * target).sum(1, keepdim=True) / target.pow(2).sum(1, keepdim=True).clamp_min(1e-8)
    goal = scale * target
    return 10 * torch.log10(goal.pow(2).sum(1) / (estimate - goal).pow(2).sum(1).clamp_min(1e-8))
