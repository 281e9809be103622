"""Voices drawn from harmonic stacks, dirtied with coloured noise."""
import math

import torch


def draw_voices(count, samples, rate, generator):
    t = torch.arange(samples) / rate
    pitch = 90 + 160 * torch.rand(count, 1, generator=generator)
    wobble = 1 + 0.02 * torch.sin(2 * math.pi * (3 + 3 * torch.rand(count, 1, generator=generator)) * t)
    phase = torch.cumsum(pitch * wobble / rate, dim=1) * 2 * math.pi
    wave = torch.zeros(count, samples)
    for k in range(1, 9):
        amplitude = torch.rand(count, 1, generator=generator) / k
        wave += amplitude * torch.sin(k * phase)
    syllables = 0.5 - 0.5 * torch.cos(2 * math.pi * (2 + 3 * torch.rand(count, 1, generator=generator)) * t)
    wave *= syllables
    return 0.5 * wave / wave.abs().amax(dim=1, keepdim=True)


def draw_noises(count, samples, generator):
    white = torch.randn(count, samples, generator=generator)
    spectrum = torch.fft.rfft(white)
    tilt = torch.rand(count, 1, generator=generator)
    weight = (1 + torch.arange(spectrum.shape[1])).float().pow(-tilt)
    noise = torch.fft.irfft(spectrum * weight, n=samples)
    return noise / noise.std(dim=1, keepdim=True)


class Mixer:
    """Cuts crops out of the voices and the noises and mixes them at a random level."""

    def __init__(self, args, count, seed):
        self.generator = torch.Generator().manual_seed(seed)
        samples = int(args.seconds * args.rate)
        self.voices = draw_voices(count, samples, args.rate, self.generator)
        self.noises = draw_noises(max(count // 4, 1), samples, self.generator)
        self.crop = args.crop
        self.batch_size = args.batch_size

    def _crops(self, bank):
        row = torch.randint(len(bank), (self.batch_size, 1), generator=self.generator)
        start = torch.randint(bank.shape[1] - self.crop, (self.batch_size, 1), generator=self.generator)
        return bank[row, start + torch.arange(self.crop)]

    def batch(self):
        clean = self._crops(self.voices)
        noise = self._crops(self.noises)
        snr = torch.empty(self.batch_size, 1).uniform_(-2, 12, generator=self.generator)
        level = clean.std(dim=1, keepdim=True).clamp_min(1e-3) * torch.pow(10.0, -snr / 20)
        return clean + level * noise, clean
