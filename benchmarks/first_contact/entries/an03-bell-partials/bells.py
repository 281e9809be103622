"""Strikes of church bells: damped partials with doublets, a clapper transient and street noise."""
import math

import torch

NAMES = ("hum", "prime", "tierce", "quint", "nominal", "deciem", "undeciem", "duodeciem")
RATIOS = torch.tensor([0.5, 1.0, 1.2, 1.5, 2.0, 2.5, 2.67, 3.0])
RATE, LENGTH = 8000, 8192


def strike(count, generator):
    """Waveforms (count, LENGTH) and the partials' deviations in cents, decay times and warbles."""
    prime = torch.empty(count, 1).uniform_(180, 520, generator=generator)
    cents = torch.randn(count, len(RATIOS), generator=generator) * 25
    decay = torch.empty(count, len(RATIOS)).uniform_(0.15, 1.6, generator=generator)
    warble = torch.empty(count, len(RATIOS)).uniform_(0.2, 4.0, generator=generator)
    level = torch.rand(count, len(RATIOS), generator=generator) + 0.1
    seconds = torch.arange(LENGTH) / RATE
    wave = torch.zeros(count, LENGTH)
    hertz = prime * RATIOS * 2 ** (cents / 1200)
    for k in range(len(RATIOS)):
        envelope = level[:, k:k + 1] * torch.exp(-seconds / decay[:, k:k + 1])
        beat = 1 + 0.4 * torch.cos(2 * math.pi * warble[:, k:k + 1] * seconds)
        wave += envelope * beat * torch.sin(2 * math.pi * hertz[:, k:k + 1] * seconds)
    targets = torch.cat([cents / 25, decay.log(), warble.log()], 1)
    return wave / wave.abs().amax(1, keepdim=True), targets
