import numpy as np
import torch


def hz_to_mel(hz):
    return 2595.0 * np.log10(1.0 + hz / 700.0)


def mel_to_hz(mel):
    return 700.0 * (10.0 ** (mel / 2595.0) - 1.0)


def mel_filterbank(sample_rate, n_fft, n_mels, fmin=20.0, fmax=None):
    """Triangular filters, (n_mels, n_fft // 2 + 1)."""
    fmax = fmax or sample_rate / 2
    edges = mel_to_hz(np.linspace(hz_to_mel(fmin), hz_to_mel(fmax), n_mels + 2))
    freqs = np.linspace(0, sample_rate / 2, n_fft // 2 + 1)
    bank = np.zeros((n_mels, len(freqs)), dtype=np.float32)
    for m in range(n_mels):
        left, center, right = edges[m:m + 3]
        rising = (freqs - left) / (center - left)
        falling = (right - freqs) / (right - center)
        bank[m] = np.maximum(0, np.minimum(rising, falling))
        bank[m] *= 2.0 / (right - left)
    return bank


def log_mel(wave, sample_rate=16000, n_fft=512, hop_length=160, n_mels=40):
    """wave: float tensor (samples,) -> (n_mels, frames)."""
    window = torch.hann_window(n_fft)
    spectrum = torch.stft(wave, n_fft, hop_length, window=window, return_complex=True)
    power = spectrum.abs().pow(2)
    bank = torch.from_numpy(mel_filterbank(sample_rate, n_fft, n_mels))
    return torch.log(bank @ power + 1e-6)
