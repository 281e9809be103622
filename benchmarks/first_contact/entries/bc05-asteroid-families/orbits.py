"""Proper elements of a synthetic main belt with collisional families."""
import math

import torch

FAMILIES = 40


def main_belt(count, generator):
    """(count, 6): a, e, sin i, H, cos and sin of the longitude; and the family."""
    world = torch.Generator().manual_seed(77)
    centre = torch.rand(FAMILIES, 3, generator=world) * torch.tensor([1.1, 0.25, 0.3]) + torch.tensor([2.1, 0.02, 0.02])
    spread = (0.2 + torch.rand(FAMILIES, 3, generator=world)) * torch.tensor([0.02, 0.012, 0.008])
    size = torch.rand(FAMILIES, generator=world) ** 2 + 0.05
    family = torch.multinomial(size, count, replacement=True, generator=generator)
    height = 12 + 5 * torch.rand(count, generator=generator) ** 0.5
    throw = torch.randn(count, 3, generator=generator) * spread[family]
    drift = (torch.randint(0, 2, (count,), generator=generator) * 2 - 1) * 0.01 * 10 ** (0.2 * (height - 15))
    elements = centre[family] + throw
    elements[:, 0] += drift
    angle = 2 * math.pi * torch.rand(count, generator=generator)
    rows = torch.cat([elements, height[:, None], angle.cos()[:, None], angle.sin()[:, None]], 1)
    return rows, family


class Standard:
    def __init__(self, rows):
        self.mean, self.std = rows.mean(0), rows.std(0)

    def encode(self, rows):
        return (rows - self.mean) / self.std

    def decode(self, rows):
        return rows * self.std + self.mean
