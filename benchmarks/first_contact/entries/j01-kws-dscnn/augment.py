"""Waveform augmentation. Everything works on float32 numpy arrays in [-1, 1]."""
import numpy as np


class Compose:
    def __init__(self, *stages):
        self.stages = stages

    def __call__(self, wave, rng):
        for stage in self.stages:
            wave = stage(wave, rng)
        return wave


class RandomGain:
    def __init__(self, low_db=-6.0, high_db=6.0):
        self.low_db, self.high_db = low_db, high_db

    def __call__(self, wave, rng):
        return wave * np.float32(10 ** (rng.uniform(self.low_db, self.high_db) / 20))


class SpeedPerturb:
    """Resample by linear interpolation."""

    def __init__(self, low=0.9, high=1.1):
        self.low, self.high = low, high

    def __call__(self, wave, rng):
        rate = rng.uniform(self.low, self.high)
        positions = np.arange(0, len(wave) - 1, rate)
        return np.interp(positions, np.arange(len(wave)), wave).astype(np.float32)


class BackgroundNoise:
    """Pink-ish noise at a random signal-to-noise ratio."""

    def __init__(self, snr_low=5.0, snr_high=25.0):
        self.snr_low, self.snr_high = snr_low, snr_high

    def __call__(self, wave, rng):
        noise = rng.standard_normal(len(wave), dtype=np.float32)
        noise[1:] += 0.7 * noise[:-1]
        snr = 10 ** (rng.uniform(self.snr_low, self.snr_high) / 10)
        scale = np.sqrt(np.mean(wave ** 2) / (snr * np.mean(noise ** 2) + 1e-9))
        return wave + np.float32(scale) * noise


class RandomCrop:
    def __init__(self, length):
        self.length = length

    def __call__(self, wave, rng):
        if len(wave) <= self.length:
            return np.pad(wave, (0, self.length - len(wave)))
        start = rng.integers(0, len(wave) - self.length)
        return wave[start:start + self.length]


class CenterCrop:
    def __init__(self, length):
        self.length = length

    def __call__(self, wave, rng=None):
        start = max(0, (len(wave) - self.length) // 2)
        return wave[start:start + self.length]
