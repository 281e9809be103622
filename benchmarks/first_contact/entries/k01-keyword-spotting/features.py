import numpy as np

from synth import SR


def hz_to_mel(f):
    return 2595.0 * np.log10(1.0 + f / 700.0)


def mel_to_hz(m):
    return 700.0 * (10.0 ** (m / 2595.0) - 1.0)


def mel_filterbank(n_mels, n_fft, fmin=40.0, fmax=7600.0):
    points = mel_to_hz(np.linspace(hz_to_mel(fmin), hz_to_mel(fmax), n_mels + 2))
    freqs = np.linspace(0, SR / 2, n_fft // 2 + 1)
    lower, centre, upper = points[:-2, None], points[1:-1, None], points[2:, None]
    up = (freqs - lower) / (centre - lower)
    down = (upper - freqs) / (upper - centre)
    return np.maximum(0, np.minimum(up, down)).astype(np.float32)


class LogMelDelta:
    """log-mel energies with first and second differences -> (3, n_mels, frames)"""

    def __init__(self, n_mels=40, win=400, hop=160, n_fft=512):
        self.win, self.hop, self.n_fft = win, hop, n_fft
        self.window = np.hamming(win).astype(np.float32)
        self.bank = mel_filterbank(n_mels, n_fft)

    def frames(self, wave):
        wave = np.append(wave[:1], wave[1:] - np.float32(0.97) * wave[:-1])
        view = np.lib.stride_tricks.sliding_window_view(wave, self.win)[::self.hop]
        return view * self.window

    def delta(self, x):
        pad = np.pad(x, ((0, 0), (2, 2)), mode="edge")
        return (pad[:, 3:-1] - pad[:, 1:-3] + 2 * (pad[:, 4:] - pad[:, :-4])) / 10.0

    def __call__(self, wave):
        spec = np.fft.rfft(self.frames(wave), self.n_fft)
        power = (spec.real ** 2 + spec.imag ** 2) / self.n_fft
        logmel = np.log(self.bank @ power.T.astype(np.float32) + 1e-6)
        logmel = (logmel - logmel.mean(axis=1, keepdims=True)) / (logmel.std(axis=1, keepdims=True) + 1e-5)
        d1 = self.delta(logmel)
        return np.stack([logmel, d1, self.delta(d1)]).astype(np.float32)
