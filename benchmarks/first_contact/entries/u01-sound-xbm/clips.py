"""Synthetic sound clips: log-mel patches with several tags each."""
import torch


class ClipBank:
    """Clips of `frames` x `mels`, and for each clip a multi-hot row of tags."""

    def __init__(self, count, tags=40, mels=32, frames=64, seed=0):
        g = torch.Generator().manual_seed(seed)
        shapes = torch.Generator().manual_seed(99)
        patterns = torch.randn(tags, frames, mels, generator=shapes)
        patterns = patterns.cumsum(1) / frames ** 0.5
        popularity = 1.0 / (torch.arange(tags) + 8.0)
        chosen = torch.multinomial(popularity.expand(count, tags), 4, generator=g)
        gains = torch.rand(count, 4, generator=g) + 0.4
        self.mel = torch.empty(count, frames, mels)
        for start in range(0, count, 512):
            rows = slice(start, start + 512)
            mixed = (patterns[chosen[rows]] * gains[rows, :, None, None]).sum(1)
            self.mel[rows] = mixed + 0.6 * torch.randn(mixed.shape, generator=g)
        self.tags = torch.zeros(count, tags, dtype=torch.long)
        self.tags.scatter_(1, chosen, 1)

    def __len__(self):
        return len(self.mel)

    def batches(self, size, generator=None):
        order = torch.randperm(len(self), generator=generator)
        for start in range(0, len(self) - size + 1, size):
            rows = order[start:start + size]
            yield self.mel[rows], self.tags[rows]


def time_mask(mel, width, generator=None):
    """One random stretch of frames is silenced in every clip."""
    frames = mel.size(1)
    start = torch.randint(0, frames - width, (len(mel), 1), generator=generator)
    position = torch.arange(frames)
    keep = (position < start) | (position >= start + width)
    return mel * keep.unsqueeze(-1)
