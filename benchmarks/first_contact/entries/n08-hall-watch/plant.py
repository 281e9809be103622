"""Readings of a hall of machines, arriving tick by tick; now and then one of them goes wrong."""
import math

import torch


class Plant:
    def __init__(self, machines, channels, seed):
        self.g = torch.Generator().manual_seed(seed)
        self.machines, self.channels = machines, channels
        self.level = torch.randn(machines, channels, generator=self.g)
        self.period = 20 + 60 * torch.rand(machines, 1, generator=self.g)
        self.swing = 0.5 + torch.rand(machines, channels, generator=self.g)
        self.drift = torch.zeros(machines, channels)
        self.broken = torch.zeros(machines, dtype=torch.long)
        self.tick = 0

    def read(self):
        self.tick += 1
        self.drift.mul_(0.98).add_(torch.randn(self.machines, self.channels, generator=self.g), alpha=0.05)
        values = torch.sin(2 * math.pi * self.tick / self.period) * self.swing
        values += self.level
        values += self.drift
        values += 0.1 * torch.randn(self.machines, self.channels, generator=self.g)
        self.broken.sub_(1).clamp_min_(0)
        if self.tick % 40 == 0:
            victim = torch.randint(self.machines, (1,), generator=self.g).item()
            self.broken[victim] = 25
        values[:, 0] += 2.5 * (self.broken > 0)
        return values
