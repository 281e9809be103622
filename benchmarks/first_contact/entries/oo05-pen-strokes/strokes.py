import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence


def load(path):
    archive = np.load(path)
    points, offsets, held_out = torch.from_numpy(archive["points"]), archive["offsets"], int(archive["held_out"])
    lines = [points[a:b] for a, b in zip(offsets[:-1], offsets[1:])]
    scale = torch.cat(lines[held_out:])[:, :2].std()
    for line in lines:
        line[:, :2] /= scale
    return lines[held_out:], lines[:held_out]


class Buckets:
    """Batches of lines of about equal length, the batches in random order."""

    def __init__(self, lines, batch_size, pool=8, shuffle=True, seed=0):
        self.lines, self.batch_size, self.pool, self.shuffle = lines, batch_size, pool, shuffle
        self.lengths = torch.tensor([len(line) for line in lines])
        self.generator = torch.Generator().manual_seed(seed)

    def batches(self):
        if not self.shuffle:
            return list(self.lengths.argsort().split(self.batch_size))
        order = torch.randperm(len(self.lines), generator=self.generator)
        batches = []
        for part in order.split(self.pool * self.batch_size):
            part = part[self.lengths[part].argsort()]
            batches += [b for b in part.split(self.batch_size) if len(b) == self.batch_size]
        return [batches[i] for i in torch.randperm(len(batches), generator=self.generator).tolist()]

    def __iter__(self):
        for rows in self.batches():
            padded = pad_sequence([self.lines[i] for i in rows.tolist()])
            mask = torch.arange(len(padded) - 1)[:, None] < (self.lengths[rows] - 1)[None, :]
            yield padded[:-1], padded[1:], mask
