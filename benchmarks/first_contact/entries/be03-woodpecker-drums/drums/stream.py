"""Envelope snippets of woodpecker drum rolls; rare species are drawn as often as common ones."""
import random

import numpy as np
import torch
from torch.utils.data import IterableDataset

SPECIES = {                      # strikes a second, acceleration, strikes in a roll, share of the archive
    "great spotted": (13.0, 1.25, 12, 0.50),
    "lesser spotted": (16.0, 1.00, 22, 0.08),
    "middle spotted": (9.0, 1.05, 14, 0.04),
    "black": (17.0, 1.05, 30, 0.20),
    "grey-headed": (20.0, 0.98, 20, 0.08),
    "three-toed": (14.0, 1.15, 16, 0.06),
    "white-backed": (12.0, 1.45, 24, 0.04),
}
RATE = 500


def roll(species, length, rng):
    speed, quicker, strikes, _ = SPECIES[species]
    gap = RATE / (speed * rng.normal(1, 0.04))
    at, out = rng.integers(20, length // 2), np.zeros(length, np.float32)
    n = max(5, int(strikes * rng.normal(1, 0.15)))
    for k in range(n):
        if at >= length - 12:
            break
        out[int(at):int(at) + 12] += np.exp(-np.arange(12) / 3.0) * rng.uniform(0.6, 1.0)
        at += gap / (1 + (quicker - 1) * k / n)
    return out


class Archive:
    def __init__(self, recordings, seconds, snippets, length, seed):
        rng = np.random.default_rng(seed)
        names = list(SPECIES)
        share = np.array([SPECIES[n][3] for n in names])
        kinds = rng.choice(len(names), recordings, p=share / share.sum())
        total = seconds * RATE
        self.sound = 0.05 * rng.standard_normal((recordings, total), dtype=np.float32) ** 2
        for row, kind in zip(self.sound, kinds):
            for start in range(0, total - length, length):
                row[start:start + length] += roll(names[kind], length, rng)
        which = rng.integers(0, recordings, snippets)
        onset = rng.integers(0, total - length, snippets)
        self.snippets = list(zip(which.tolist(), onset.tolist(), kinds[which].tolist()))
        self.length = length
        counts = np.bincount(kinds[which], minlength=len(names))
        self.weights = (1.0 / counts[kinds[which]]).tolist()

    def cut(self, snippet):
        recording, onset, kind = snippet
        return self.sound[recording, onset:onset + self.length], kind


class RollStream(IterableDataset):
    def __init__(self, archive, seed, gain=0.3):
        self.archive, self.gain = archive, gain
        self.rng = random.Random(seed)

    def __iter__(self):
        archive = self.archive
        while True:
            snippet, = self.rng.choices(archive.snippets, weights=archive.weights)
            envelope, kind = archive.cut(snippet)
            loud = 1 + self.rng.uniform(-self.gain, self.gain)
            yield torch.from_numpy(envelope * np.float32(loud)), kind
