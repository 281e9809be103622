"""Made-up hydrophone clips: four kinds of sound under sea noise, kept as int16."""
import numpy as np
import torch

RATE = 48_000
CLIP = 8192
MARGIN = 1024
KINDS = ("noise", "porpoise", "dolphin", "sonar")


def synthesise(count, seed):
    rng = np.random.default_rng(seed)
    length = CLIP + MARGIN
    t = np.arange(length, dtype=np.float32)
    clips = np.empty((count, length), dtype=np.int16)
    labels = rng.integers(0, len(KINDS), count)
    for lo in range(0, count, 240):
        kind = labels[lo:lo + 240, None]
        n = len(kind)
        sea = rng.standard_normal((n, length), dtype=np.float32)
        interval = rng.uniform(700, 2600, (n, 1)).astype(np.float32)
        phase = np.mod(t + rng.uniform(0, 3000, (n, 1)).astype(np.float32), interval)
        width = np.where(kind == 1, 60.0, np.where(kind == 2, 14.0, 400.0)).astype(np.float32)
        envelope = np.exp(-np.square((phase - 500.0) / width))
        freq = np.where(kind == 1, rng.uniform(0.36, 0.44, (n, 1)),
                        np.where(kind == 2, rng.uniform(0.12, 0.42, (n, 1)), rng.uniform(0.15, 0.3, (n, 1))))
        carrier = np.cos((2 * np.pi * freq).astype(np.float32) * t)
        level = np.where(kind == 0, 0.0, rng.uniform(0.4, 2.5, (n, 1))).astype(np.float32)
        clips[lo:lo + n] = np.clip((sea * 0.5 + level * envelope * carrier) * 6000, -32000, 32000)
    return torch.from_numpy(clips), torch.from_numpy(labels)


def sea_noise(seconds, seed):
    rng = np.random.default_rng(seed)
    white = rng.standard_normal(int(seconds * RATE)).astype(np.float32)
    spectrum = np.fft.rfft(white)
    spectrum *= (1.0 / np.sqrt(np.maximum(np.arange(len(spectrum)), 1) / 400.0 + 1)).astype(np.float32)
    noise = np.fft.irfft(spectrum, len(white)).astype(np.float32)
    return torch.from_numpy(noise / noise.std())


class Deployment:
    """A set of clips with labels that hands out augmented batches of waveforms."""

    def __init__(self, clips, labels, noise=None):
        self.windows = clips.unfold(1, CLIP, 1)
        self.labels = labels
        self.noise = None if noise is None else noise.unfold(0, CLIP, 16)

    def __len__(self):
        return len(self.labels)

    def batches(self, size, generator):
        order = torch.randperm(len(self), generator=generator)
        for rows in order.split(size)[: len(self) // size]:
            n = len(rows)
            start = torch.randint(MARGIN, (n,), generator=generator)
            wave = self.windows[rows, start].to(torch.float32)
            gain = torch.empty(n, 1).uniform_(-9, 6, generator=generator).div_(20)
            wave.mul_(torch.pow(10.0, gain).div_(32768))
            pick = torch.randint(len(self.noise), (n,), generator=generator)
            wave.addcmul_(self.noise[pick], torch.empty(n, 1).uniform_(0.0, 0.08, generator=generator))
            yield wave, self.labels[rows]

    def plain(self, size):
        for lo in range(0, len(self), size):
            yield self.windows[lo:lo + size, MARGIN // 2].to(torch.float32).div_(32768), self.labels[lo:lo + size]
