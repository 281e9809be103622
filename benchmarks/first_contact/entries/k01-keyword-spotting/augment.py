import numpy as np

from synth import SR


class NoiseMixer:
    """Adds a random stretch of background noise at a random signal-to-noise ratio."""

    def __init__(self, recordings, snr_db=(0.0, 20.0), prob=0.8):
        self.recordings = recordings
        self.names = sorted(recordings)
        self.snr_db = snr_db
        self.prob = prob

    def __call__(self, wave, rng):
        if rng.random() > self.prob:
            return wave
        noise = self.pick(rng)
        start = int(rng.integers(0, len(noise) - len(wave)))
        noise = noise[start:start + len(wave)]
        snr = rng.uniform(*self.snr_db)
        signal_power = np.mean(wave ** 2) + 1e-8
        noise_power = np.mean(noise ** 2) + 1e-8
        gain = np.sqrt(signal_power / (noise_power * 10 ** (snr / 10)))
        return wave + gain * noise

    def pick(self, rng):
        noise = self.recordings[self.names[int(rng.integers(len(self.names)))]]
        noise = noise - noise.mean()
        return noise / max(float(np.abs(noise).max()), 1e-6)


def time_shift(wave, rng, max_ms=100):
    shift = int(rng.integers(-max_ms, max_ms + 1)) * SR // 1000
    if shift == 0:
        return wave
    out = np.zeros_like(wave)
    if shift > 0:
        out[shift:] = wave[:-shift]
    else:
        out[:shift] = wave[-shift:]
    return out


def spec_mask(feat, rng, n_time=12, n_freq=6):
    feat = feat.copy()
    t, f = int(rng.integers(0, n_time)), int(rng.integers(0, n_freq))
    t0 = int(rng.integers(0, feat.shape[-1] - t))
    f0 = int(rng.integers(0, feat.shape[-2] - f))
    feat[:, :, t0:t0 + t] = 0
    feat[:, f0:f0 + f, :] = 0
    return feat
