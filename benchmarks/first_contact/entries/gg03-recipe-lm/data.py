import json
import random

import torch
from torch.utils.data import IterableDataset


class RecipeStream(IterableDataset):
    """Recipes from a JSON lines file, shuffled through a buffer."""

    def __init__(self, path, tokenizer, max_len, shuffle_buffer=0, seed=0):
        self.path = path
        self.tokenizer = tokenizer
        self.max_len = max_len
        self.shuffle_buffer = shuffle_buffer
        self.rng = random.Random(seed)

    def records(self):
        with open(self.path) as f:
            for line in f:
                record = json.loads(line)
                yield record["title"] + "\n" + "\n".join(record["directions"])

    def shuffled(self):
        if not self.shuffle_buffer:
            yield from self.records()
            return
        buffer = []
        for text in self.records():
            if len(buffer) < self.shuffle_buffer:
                buffer.append(text)
                continue
            i = self.rng.randrange(len(buffer))
            yield buffer[i]
            buffer[i] = text
        self.rng.shuffle(buffer)
        yield from buffer

    def __iter__(self):
        for text in self.shuffled():
            yield self.tokenizer.encode(text)[:self.max_len + 1]


class Collate:
    def __init__(self, pad, max_len):
        self.pad = pad
        self.max_len = max_len

    def __call__(self, batch):
        tokens = torch.full((len(batch), self.max_len + 1), self.pad)
        for i, ids in enumerate(batch):
            tokens[i, :len(ids)] = torch.tensor(ids)
        return tokens[:, :-1], tokens[:, 1:]
