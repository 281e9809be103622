"""Synthetic dawn-chorus recordings as log-mel frames with a label for every frame."""
import torch


class Recorder:
    def __init__(self, species, mels, seed):
        g = torch.Generator().manual_seed(77)
        self.low = 4 + (mels - 14) * torch.rand(species, generator=g)
        self.sweep = 16 * torch.rand(species, generator=g) - 8
        self.rate = 0.05 + 0.25 * torch.rand(species, generator=g)
        self.span = torch.randint(12, 36, (species,), generator=g)
        self.mels = mels
        self.species = species
        self.generator = torch.Generator().manual_seed(seed)

    def call(self, species, length):
        t = torch.arange(length).float()
        centre = self.low[species] + self.sweep[species] * t / length + 2 * torch.sin(self.rate[species] * t * 6.28)
        axis = torch.arange(self.mels).float()
        return 2.5 * torch.exp(-((axis - centre[:, None]) / 1.6) ** 2)

    def record(self, count, frames, calls):
        g = self.generator
        x = torch.randn(count, frames, self.mels, generator=g)
        y = torch.zeros(count, frames, self.species)
        for i in range(count):
            for _ in range(calls):
                s = int(torch.randint(self.species, (), generator=g))
                length = int(self.span[s])
                start = int(torch.randint(frames - length, (), generator=g))
                x[i, start:start + length] += self.call(s, length)
                y[i, start:start + length, s] = 1
        return x, y
