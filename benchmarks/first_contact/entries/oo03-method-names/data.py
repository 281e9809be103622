import random

import torch
from torch.utils.data import Dataset


class PathContexts(Dataset):
    """Methods as bags of path contexts; at most `max_contexts` of them are drawn anew each time a method is visited."""

    def __init__(self, path, tokens, paths, targets, max_contexts=120, sample=True):
        with open(path) as f:
            self.lines = f.read().splitlines()
        self.tokens, self.paths, self.targets = tokens, paths, targets
        self.max_contexts = max_contexts
        self.sample = sample

    def __len__(self):
        return len(self.lines)

    def __getitem__(self, index):
        target, *contexts = self.lines[index].split(" ")
        if len(contexts) > self.max_contexts:
            contexts = random.sample(contexts, self.max_contexts) if self.sample else contexts[: self.max_contexts]
        ids = torch.zeros(3, self.max_contexts, dtype=torch.long)
        left, middle, right = [], [], []
        for context in contexts:
            a, p, b = context.split(",")
            left.append(self.tokens[a])
            middle.append(self.paths[p])
            right.append(self.tokens[b])
        ids[:, : len(contexts)] = torch.tensor([left, middle, right])
        return ids, len(contexts), self.targets[target]


def collate(items):
    ids, lengths, targets = zip(*items)
    ids = torch.stack(ids)
    lengths = torch.tensor(lengths)
    longest = int(lengths.max())
    ids = ids[:, :, :longest]
    mask = torch.arange(longest)[None, :] < lengths[:, None]
    return ids[:, 0], ids[:, 1], ids[:, 2], mask, torch.tensor(targets)
