import re
from collections import Counter

import numpy as np
import torch

TOKEN = re.compile(r"[a-z]+|[.,!?]")
PAD, UNK = 0, 1


def tokenize(line):
    return TOKEN.findall(line.lower())


class Vocabulary:
    def __init__(self, documents, size):
        counts = Counter()
        for document in documents:
            counts.update(document)
        self.words = ["<pad>", "<unk>"] + [word for word, _ in counts.most_common(size - 2)]
        self.index = {word: i for i, word in enumerate(self.words)}

    def __len__(self):
        return len(self.words)

    def encode(self, document):
        return [self.index.get(word, UNK) for word in document]


class SpanCorpus:
    """All documents end to end in one array; spans are cut by index."""

    def __init__(self, documents, vocabulary, span):
        encoded = [vocabulary.encode(d) for d in documents if len(d) >= 2 * span]
        self.span = span
        self.lengths = np.array([len(d) for d in encoded])
        self.offsets = np.concatenate([[0], np.cumsum(self.lengths)[:-1]])
        self.tokens = np.concatenate([np.asarray(d, dtype=np.int64) for d in encoded])
        self.inside = np.arange(span)

    def __len__(self):
        return len(self.lengths)

    def cut(self, documents, starts):
        places = (self.offsets[documents] + starts)[:, None] + self.inside
        return torch.from_numpy(self.tokens[places])

    def batches(self, size, rng):
        """Two non-overlapping random spans of each document."""
        order = rng.permutation(len(self))
        for first in range(0, len(order) - size + 1, size):
            pick = order[first:first + size]
            slack = self.lengths[pick] - 2 * self.span
            left = rng.integers(0, slack + 1)
            right = left + self.span + rng.integers(0, slack - left + 1)
            yield self.cut(pick, left), self.cut(pick, right)

    def ends(self, size):
        for first in range(0, len(self), size):
            pick = np.arange(first, min(first + size, len(self)))
            yield self.cut(pick, np.zeros_like(pick)), self.cut(pick, self.lengths[pick] - self.span)


def read_documents(path):
    with open(path) as file:
        return [tokenize(line) for line in file]
