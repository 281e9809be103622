import math

import torch
import torch.nn as nn


def hz_to_mel(f):
    return 2595.0 * math.log10(1.0 + f / 700.0)


def mel_to_hz(m):
    return 700.0 * (10.0 ** (m / 2595.0) - 1.0)


def mel_filterbank(sample_rate, n_fft, n_mels, f_min=20.0, f_max=None):
    f_max = f_max or sample_rate / 2
    lo, hi = hz_to_mel(f_min), hz_to_mel(f_max)
    points = [mel_to_hz(lo + (hi - lo) * i / (n_mels + 1)) for i in range(n_mels + 2)]
    freqs = torch.linspace(0, sample_rate / 2, n_fft // 2 + 1)
    fb = torch.zeros(n_mels, n_fft // 2 + 1)
    for m in range(n_mels):
        left, center, right = points[m], points[m + 1], points[m + 2]
        up = (freqs - left) / (center - left)
        down = (right - freqs) / (right - center)
        fb[m] = torch.clamp(torch.minimum(up, down), min=0.0)
    return fb / fb.sum(dim=1, keepdim=True).clamp(min=1e-6)


class LogMel(nn.Module):
    def __init__(self, sample_rate=8000, n_fft=256, hop=128, n_mels=64):
        super().__init__()
        self.sample_rate = sample_rate
        self.n_fft = n_fft
        self.hop = hop
        self.n_mels = n_mels

    def forward(self, wave):
        window = torch.hann_window(self.n_fft, device=wave.device)
        spec = torch.stft(wave, self.n_fft, self.hop, window=window, return_complex=True)
        power = spec.real.square() + spec.imag.square()
        fb = mel_filterbank(self.sample_rate, self.n_fft, self.n_mels).to(wave)
        mel = fb @ power
        return torch.log(mel + 1e-6)
