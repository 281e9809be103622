"""Wrist accelerometer windows: a chain of activities, each with its own rhythm and strength."""
import math

import torch


def draw(count, length, channels, classes, seed):
    g = torch.Generator().manual_seed(seed)
    traits = torch.Generator().manual_seed(77)
    rate = 0.4 + 2.2 * torch.rand(classes, channels, generator=traits)
    strength = 0.2 + torch.rand(classes, channels, generator=traits)
    lean = 0.5 * torch.randn(classes, channels, generator=traits)

    stay = torch.rand(count, length, generator=g) < 0.94
    fresh = torch.randint(classes, (count, length), generator=g)
    labels = fresh.clone()
    for t in range(1, length):
        labels[:, t] = torch.where(stay[:, t], labels[:, t - 1], fresh[:, t])

    phase = torch.cumsum(rate[labels] * 0.35, dim=1) + 2 * math.pi * torch.rand(count, 1, channels, generator=g)
    signal = lean[labels] + strength[labels] * torch.sin(phase)
    signal = signal + 0.6 * torch.randn(count, length, channels, generator=g)
    return signal, labels


class Windows:
    def __init__(self, count, args, seed):
        self.signal, self.labels = draw(count, args.length, args.channels, args.classes, seed)
        mean = self.signal.mean(dim=(0, 1))
        self.signal = (self.signal - mean) / self.signal.std(dim=(0, 1))
        self.batch_size = args.batch_size
        self.generator = torch.Generator().manual_seed(seed)

    def __len__(self):
        return len(self.signal) // self.batch_size

    def batches(self, shuffle=True):
        count = len(self.signal)
        order = torch.randperm(count, generator=self.generator) if shuffle else torch.arange(count)
        for start in range(0, len(self) * self.batch_size, self.batch_size):
            rows = order[start:start + self.batch_size]
            yield self.signal[rows], self.labels[rows]
