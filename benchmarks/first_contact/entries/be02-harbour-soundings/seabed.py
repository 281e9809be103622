"""Random harbours: smooth seabeds sampled along survey lines and at scattered lead-line casts."""
import math

import torch


class Seabeds:
    def __init__(self, harbours, waves=24, noise=0.03, seed=0):
        self.harbours, self.waves, self.noise = harbours, waves, noise
        self.gen = torch.Generator().manual_seed(seed)

    def draw(self, n_context, n_target):
        g, b, n = self.gen, self.harbours, n_context + n_target
        where = torch.rand(b, n, 2, generator=g).mul_(2).sub_(1)
        rough = 1.0 + 2.0 * torch.rand(b, 1, 1, generator=g)
        waves = torch.randn(b, 2, self.waves, generator=g) * rough
        phase = torch.rand(b, 1, self.waves, generator=g) * (2 * math.pi)
        height = torch.randn(b, self.waves, 1, generator=g) * math.sqrt(2 / self.waves)
        depth = torch.baddbmm(phase, where, waves).cos_().bmm(height)
        depth += self.noise * torch.randn(b, n, 1, generator=g)
        return where[:, :n_context], depth[:, :n_context], where, depth
