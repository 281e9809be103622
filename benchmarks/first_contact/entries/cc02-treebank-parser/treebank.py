"""A toy treebank: projective trees whose labels follow from tags and direction."""
import numpy as np
import torch

NUM_WORDS = 4000
NUM_TAGS = 24
NUM_LABELS = 45
PAD, ROOT = 0, 1


class Grammar:
    def __init__(self, rng):
        self.words_of = [rng.integers(2, NUM_WORDS, 300) for _ in range(NUM_TAGS)]
        self.label = rng.integers(0, NUM_LABELS, (NUM_TAGS, NUM_TAGS, 2))
        self.rank = rng.permutation(NUM_TAGS)

    def sentence(self, rng, length):
        tags = rng.integers(2, NUM_TAGS, length)
        words = [int(self.words_of[t][int(300 * rng.random() ** 2)]) for t in tags]
        heads = [0] * length
        labels = [0] * length
        self._attach(tags, 0, length, 0, heads, labels)
        return words, tags.tolist(), heads, labels

    def _attach(self, tags, low, high, parent, heads, labels):
        if low >= high:
            return
        span = list(range(low, high))
        top = max(span, key=lambda i: (self.rank[tags[i]], -abs(i - (low + high) / 2)))
        heads[top] = parent
        side = int(parent > top + 1)
        labels[top] = int(self.label[tags[top], tags[parent - 1] if parent else 1, side])
        self._attach(tags, low, top, top + 1, heads, labels)
        self._attach(tags, top + 1, high, top + 1, heads, labels)


def make_treebank(count, low, high, seed):
    rng = np.random.default_rng(seed)
    grammar = Grammar(np.random.default_rng(99))
    return [grammar.sentence(rng, int(rng.integers(low, high))) for _ in range(count)]


def collate(sentences):
    """Position 0 of each row is the artificial root."""
    width = 1 + max(len(s[0]) for s in sentences)
    block = np.zeros((4, len(sentences), width), dtype=np.int64)
    for row, (words, tags, heads, labels) in enumerate(sentences):
        end = 1 + len(words)
        block[0, row, 0] = ROOT
        block[1, row, 0] = 1
        block[0, row, 1:end] = words
        block[1, row, 1:end] = tags
        block[2, row, 1:end] = heads
        block[3, row, 1:end] = labels
    words, tags, heads, labels = torch.from_numpy(block).unbind(0)
    return words, tags, heads, labels


class Buckets:
    """Batches of sentences of about the same length, in random order."""

    def __init__(self, sentences, batch_size, seed=None):
        by_length = sorted(sentences, key=lambda s: len(s[0]))
        self.batches = [collate(by_length[i:i + batch_size])
                        for i in range(0, len(by_length), batch_size)]
        self.rng = np.random.default_rng(seed) if seed is not None else None

    def __len__(self):
        return len(self.batches)

    def __iter__(self):
        order = range(len(self.batches))
        if self.rng is not None:
            order = self.rng.permutation(len(self.batches))
        for i in order:
            yield self.batches[i]
