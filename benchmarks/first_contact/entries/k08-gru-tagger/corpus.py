import random

import numpy as np
import torch
from torch.nn.utils.rnn import pad_sequence

TAGS = ["O", "B-PER", "I-PER", "B-LOC", "I-LOC", "B-ORG", "I-ORG"]
VOCAB = 5000


def synthetic_corpus(n, seed):
    """sentences of word ids with entity spans whose type hangs on the word before and the first word"""
    rng = np.random.default_rng(seed)
    out = []
    for length in (rng.gamma(3.0, 14.0, n) + 8).astype(int).clip(8, 160):
        words = rng.integers(700, VOCAB, length)
        tags = np.zeros(length, dtype=np.int64)
        i = 1
        while i < length - 3:
            if rng.random() < 0.18:
                kind = int(rng.integers(3))
                span = int(rng.integers(1, 4))
                words[i - 1] = 1 + 10 * kind + rng.integers(10)
                words[i:i + span] = rng.integers(50 + 200 * kind, 250 + 200 * kind + 100, span)
                tags[i] = 1 + 2 * kind
                tags[i + 1:i + span] = 2 + 2 * kind
                i += span
            i += 1
        out.append((torch.from_numpy(words), torch.from_numpy(tags)))
    return out


class BucketedBatches:
    """Batches of similar length: shuffle, cut into pools, sort each pool, cut, shuffle the batches."""

    def __init__(self, sentences, batch_size, shuffle, pool=20, seed=0):
        self.sentences, self.batch_size, self.shuffle = sentences, batch_size, shuffle
        self.pool, self.rng = pool * batch_size, random.Random(seed)
        self.lengths = [len(w) for w, _ in sentences]

    def __len__(self):
        return -(-len(self.sentences) // self.batch_size)

    def __iter__(self):
        order = list(range(len(self.sentences)))
        if self.shuffle:
            self.rng.shuffle(order)
        batches = []
        for lo in range(0, len(order), self.pool):
            part = sorted(order[lo:lo + self.pool], key=self.lengths.__getitem__, reverse=True)
            batches += [part[k:k + self.batch_size] for k in range(0, len(part), self.batch_size)]
        if self.shuffle:
            self.rng.shuffle(batches)
        for idx in batches:
            words = pad_sequence([self.sentences[i][0] for i in idx], batch_first=True)
            tags = pad_sequence([self.sentences[i][1] for i in idx], batch_first=True, padding_value=-1)
            yield words, tags, torch.tensor([self.lengths[i] for i in idx])
