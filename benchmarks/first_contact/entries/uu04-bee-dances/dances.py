"""The recordings, all in memory, in batches of about equal length."""
import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, Sampler

BOS, EOS, PAD = 0, 1, 2
TOKENS = 3 + 12 + 6


class Dances(Dataset):
    def __init__(self, path):
        data = np.load(path)
        frames = torch.from_numpy(data["frames"]).float()
        frames = (frames - frames.mean(0)) / frames.std(0)
        self.frames = frames.split(data["frame_counts"].tolist())
        self.tokens = torch.from_numpy(data["tokens"]).split(data["token_counts"].tolist())

    def __len__(self):
        return len(self.frames)

    def __getitem__(self, index):
        return self.frames[index], self.tokens[index]


class LengthBatches(Sampler):
    """Shuffles, sorts pools of some batches by length, and yields their batches in random order."""

    def __init__(self, dataset, batch_size, pool=12, seed=0):
        self.lengths = torch.tensor([len(frames) for frames in dataset.frames])
        self.batch_size, self.pool = batch_size, pool
        self.generator = torch.Generator().manual_seed(seed)

    def __len__(self):
        return len(self.lengths) // self.batch_size

    def __iter__(self):
        order = torch.randperm(len(self.lengths), generator=self.generator)
        batches = []
        for part in order.split(self.pool * self.batch_size):
            part = part[self.lengths[part].argsort()]
            batches += [b for b in part.split(self.batch_size) if len(b) == self.batch_size]
        for number in torch.randperm(len(batches), generator=self.generator).tolist():
            yield batches[number].tolist()


def collate(rows):
    frames = pad_sequence([row[0] for row in rows], batch_first=True)
    counts = torch.tensor([len(row[0]) for row in rows])
    tokens = pad_sequence([row[1] for row in rows], batch_first=True, padding_value=PAD)
    return frames, counts, tokens


def mask_bands(frames, bands=6, span=12):
    """One band and one span of time are blanked in every recording."""
    rows, length, width = frames.shape
    low = torch.randint(0, width - bands, (rows, 1))
    start = (torch.rand(rows, 1) * max(1, length - span)).long()
    band, time = torch.arange(width)[None], torch.arange(length)[None]
    lost = ((band >= low) & (band < low + bands))[:, None, :] | ((time >= start) & (time < start + span))[:, :, None]
    return frames.masked_fill(lost, 0.0)
