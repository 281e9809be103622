from pathlib import Path

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence
from torch.utils.data import Dataset, Sampler

PAD, CLS = 0, 1


class ClauseDataset(Dataset):
    def __init__(self, root, split, max_length):
        with np.load(Path(root) / f"{split}.npz") as f:
            tokens, offsets, labels = f["tokens"].astype(np.int64), f["offsets"], f["labels"]
        self.tokens = torch.from_numpy(tokens)
        self.spans = [(int(a), int(min(b, a + max_length - 1))) for a, b in zip(offsets[:-1], offsets[1:])]
        self.labels = torch.from_numpy(labels.astype(np.float32))
        self.cls = torch.tensor([CLS])

    def __len__(self):
        return len(self.spans)

    def lengths(self):
        return np.array([b - a + 1 for a, b in self.spans])

    def __getitem__(self, i):
        a, b = self.spans[i]
        return torch.cat([self.cls, self.tokens[a:b]]), self.labels[i]


class BucketSampler(Sampler):
    """Batches of paragraphs of similar length: shuffled, sorted within pools of many batches, batches shuffled again."""

    def __init__(self, lengths, batch_size, pool=60, seed=0):
        self.lengths = lengths
        self.batch_size = batch_size
        self.pool = pool * batch_size
        self.rng = np.random.default_rng(seed)

    def __len__(self):
        return len(self.lengths) // self.batch_size

    def __iter__(self):
        order = self.rng.permutation(len(self.lengths))
        batches = []
        for start in range(0, len(order), self.pool):
            pool = order[start:start + self.pool]
            pool = pool[np.argsort(self.lengths[pool], kind="stable")]
            for k in range(0, len(pool) - self.batch_size + 1, self.batch_size):
                batches.append(pool[k:k + self.batch_size].tolist())
        for k in self.rng.permutation(len(batches)):
            yield batches[k]


def collate(batch):
    tokens, labels = zip(*batch)
    return pad_sequence(tokens, batch_first=True, padding_value=PAD), torch.stack(labels)
