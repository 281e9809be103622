import math

import numpy as np
import torch
import torch.nn as nn


def hz_to_mel(f):
    return 2595.0 * math.log10(1.0 + f / 700.0)


def mel_to_hz(m):
    return 700.0 * (10.0 ** (m / 2595.0) - 1.0)


def mel_filterbank(n_mels, n_fft, rate):
    edges = [mel_to_hz(m) for m in np.linspace(hz_to_mel(60.0), hz_to_mel(rate / 2), n_mels + 2)]
    bins = [e * n_fft / rate for e in edges]
    bank = torch.zeros(n_fft // 2 + 1, n_mels)
    for m in range(n_mels):
        left, centre, right = bins[m], bins[m + 1], bins[m + 2]
        for k in range(math.ceil(left), math.floor(right) + 1):
            if k < centre:
                bank[k, m] = (k - left) / (centre - left)
            else:
                bank[k, m] = (right - k) / (right - centre)
    return bank


class LogMel(nn.Module):
    def __init__(self, rate=8000, n_fft=256, hop=128, n_mels=32):
        super().__init__()
        self.rate, self.n_fft, self.hop, self.n_mels = rate, n_fft, hop, n_mels
        self.register_buffer("window", torch.hann_window(n_fft))

    def forward(self, wave):
        spec = torch.stft(wave, self.n_fft, self.hop, window=self.window, return_complex=True)
        power = spec.real ** 2 + spec.imag ** 2
        bank = mel_filterbank(self.n_mels, self.n_fft, self.rate).to(power)
        mel = power.transpose(1, 2) @ bank
        logmel = torch.log(mel + 1e-6)
        return logmel - logmel.mean(dim=1, keepdim=True)
