import math

import torch


def hz_to_mel(hz):
    return 2595.0 * math.log10(1.0 + hz / 700.0)


def mel_to_hz(mel):
    return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)


def mel_filterbank(n_mels, n_fft, sample_rate, f_min, f_max):
    """Triangular filters, shape (n_mels, n_fft // 2 + 1)."""
    lo, hi = hz_to_mel(f_min), hz_to_mel(f_max)
    edges = [mel_to_hz(lo + (hi - lo) * i / (n_mels + 1)) for i in range(n_mels + 2)]
    freqs = torch.linspace(0, sample_rate / 2, n_fft // 2 + 1)
    bank = torch.zeros(n_mels, n_fft // 2 + 1)
    for m in range(n_mels):
        left, centre, right = edges[m:m + 3]
        up = (freqs - left) / (centre - left)
        down = (right - freqs) / (right - centre)
        bank[m] = torch.minimum(up, down).clamp(min=0)
    return bank


class LogMel:
    def __init__(self, config):
        self.config = config

    def __call__(self, wave):
        c = self.config
        spec = torch.stft(wave, c.n_fft, hop_length=c.hop, win_length=c.n_fft,
                          window=torch.hann_window(c.n_fft), return_complex=True)
        power = spec.real.square() + spec.imag.square()
        bank = mel_filterbank(c.n_mels, c.n_fft, c.sample_rate, c.f_min, c.f_max)
        return (bank @ power).clamp(min=1e-8).log()
