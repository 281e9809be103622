import math

import torch


def make_spectra(n, bins=512, seed=0, chunk=1000):
    """absorption spectra: 3-6 Lorentz lines from a shared catalogue, a sloping baseline and detector noise"""
    gen = torch.Generator().manual_seed(seed)
    catalogue = torch.rand(24, generator=torch.Generator().manual_seed(42))
    grid = torch.linspace(0, 1, bins)
    out = torch.empty(n, bins)
    for lo in range(0, n, chunk):
        m = min(chunk, n - lo)
        picks = torch.randint(0, len(catalogue), (m, 6), generator=gen)
        centre = catalogue[picks] + 0.004 * torch.randn(m, 6, generator=gen)
        width = 0.006 + 0.02 * torch.rand(m, 6, generator=gen)
        height = torch.rand(m, 6, generator=gen) * (torch.rand(m, 6, generator=gen) < 0.75)
        lines = height[..., None] / (1 + ((grid - centre[..., None]) / width[..., None]) ** 2)
        slope = 0.2 * torch.randn(m, 1, generator=gen) * grid
        out[lo:lo + m] = lines.sum(1) + slope + 0.02 * torch.randn(m, bins, generator=gen)
    return (out - out.mean()) / out.std()


def batches(data, size, gen=None):
    """tensors of `size` rows, shuffled if a generator is given (the last short one is then left out)"""
    if gen is None:
        yield from data.split(size)
        return
    order = torch.randperm(len(data), generator=gen)
    for lo in range(0, len(data) - size + 1, size):
        yield data[order[lo:lo + size]]


def kl_weight(step, total, cycles=3, rise=0.5):
    """cyclical annealing of the KL term"""
    phase = math.fmod(step * cycles / total, 1.0)
    return min(1.0, phase / rise)
