"""A small grammar for two-voice tunes, written as a stream of events: bar, position, pitch, length."""
import numpy as np
import torch

POSITIONS, PITCHES, LENGTHS = 16, 48, 8
BAR = 0
POSITION = 1
PITCH = POSITION + POSITIONS
LENGTH = PITCH + PITCHES
VOCABULARY = LENGTH + LENGTHS

SCALES = [(0, 2, 4, 5, 7, 9, 11), (0, 2, 3, 5, 7, 8, 10), (0, 2, 4, 7, 9)]
RHYTHMS = [(0, 4, 8, 12), (0, 6, 8, 12), (0, 3, 6, 8, 11, 14), (0, 2, 4, 8, 10, 12), (0, 8)]
CHORDS = [(0, 4, 5, 3), (0, 5, 3, 4), (0, 3, 4, 0)]


def compose(bars, rng):
    scale, key = SCALES[rng.integers(len(SCALES))], int(rng.integers(0, 12))
    chords, rhythm = CHORDS[rng.integers(len(CHORDS))], RHYTHMS[rng.integers(len(RHYTHMS))]
    degree, events = int(rng.integers(0, 7)), []
    for bar in range(bars):
        events.append(BAR)
        if rng.random() < 0.15:
            rhythm = RHYTHMS[rng.integers(len(RHYTHMS))]
        root = chords[bar % 4]
        for k, position in enumerate(rhythm):
            events.append(POSITION + position)
            if k == 0:
                pitch = (key + scale[root % len(scale)]) % 24
                events += [PITCH + pitch, LENGTH + 7]
            degree = int(np.clip(degree + rng.integers(-2, 3), 0, 2 * len(scale) - 1))
            pitch = 24 + (key + scale[degree % len(scale)] + 12 * (degree // len(scale))) % 24
            end = rhythm[k + 1] if k + 1 < len(rhythm) else 16
            events += [PITCH + pitch, LENGTH + min(end - position, 8) - 1]
    return events


def corpus(pieces, seed):
    rng = np.random.default_rng(seed)
    stream = [e for _ in range(pieces) for e in compose(16, rng)]
    return torch.tensor(stream, dtype=torch.long)


class Windows:
    """Random windows of a long stream, gathered in one go."""

    def __init__(self, stream, length, seed):
        self.windows = stream.unfold(0, length + 1, 1)
        self.generator = torch.Generator().manual_seed(seed)

    def draw(self, size):
        start = torch.randint(len(self.windows), (size,), generator=self.generator)
        window = self.windows[start]
        return window[:, :-1], window[:, 1:]
