"""Recordings in memory, random excerpts of them for training, the middle of them for validation."""
import math

import numpy as np
import torch
from torch.utils.data import Dataset

RATE = 1000
EXCERPT = 2048


def load(path, held_out=192):
    with np.load(path) as archive:
        tracks, labels, bph = archive["tracks"], archive["labels"], archive["bph"]
    bands = tracks.astype(np.float32)
    bands -= bands.mean(axis=2, keepdims=True)
    bands /= bands.std(axis=2, keepdims=True)
    periods = 2.0 * 3600.0 / bph * RATE                        # tick to tick, in frames
    return (bands[held_out:], labels[held_out:]), (bands[:held_out], labels[:held_out]), periods


class Beats(Dataset):
    """Excerpts of standardised band envelopes.

    An item is (bands, kind, reading): reading holds amplitude and beat error, standardised, and the
    cosine and sine of the beat's phase at the start of the excerpt. Tick and tock sound alike, so the
    phase is that of a beat, half a turn of the balance, and the beat error has no sign.
    """

    def __init__(self, bands, labels, periods, seed=None):
        self.bands = bands
        kinds = labels[:, 0].astype(np.int64)
        self.kinds = kinds.tolist()
        self.gauges = np.stack([(labels[:, 1] - 245.0) / 43.0, np.abs(labels[:, 2]) / 1.6], axis=1).tolist()
        self.ticks = labels[:, 3].tolist()
        self.turn = (2.0 * np.pi / (periods[kinds] / 2.0)).tolist()
        self.rng = None if seed is None else np.random.default_rng(seed)
        if self.rng is not None:
            self.hiss = self.rng.standard_normal((bands.shape[1], 1 << 16), dtype=np.float32)

    def __len__(self):
        return len(self.bands)

    def excerpt(self, index):
        room = self.bands.shape[2] - EXCERPT
        if self.rng is None:
            start = room // 2
            return start, self.bands[index, :, start:start + EXCERPT]
        rng = self.rng
        start = int(rng.integers(room + 1))
        gain = 0.7 + 0.6 * rng.random((self.bands.shape[1], 1), dtype=np.float32)
        bands = self.bands[index, :, start:start + EXCERPT] * gain
        offset = int(rng.integers(self.hiss.shape[1] - EXCERPT))
        bands += 0.4 * rng.random() * self.hiss[:, offset:offset + EXCERPT]
        if rng.random() < 0.5:                                 # a knock on the stand
            width = int(rng.integers(40, 200))
            at = int(rng.integers(EXCERPT - width))
            bands[:, at:at + width] = 0.0
        return start, bands

    def __getitem__(self, index):
        start, bands = self.excerpt(index)
        angle = (self.ticks[index] - start) * self.turn[index]
        reading = torch.tensor((*self.gauges[index], math.cos(angle), math.sin(angle)))
        return torch.from_numpy(bands), self.kinds[index], reading
