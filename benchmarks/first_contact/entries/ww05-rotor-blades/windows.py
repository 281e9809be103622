"""Vibration records in memory, served as whole batches of windows."""
import json

import numpy as np
import torch


class Windows:
    """Iterates over (windows, labels); with `shuffle` the windows start at random places of the records."""

    def __init__(self, records, labels, length, batch_size, per_record, shuffle, generator=None):
        self.views = records.unfold(2, length, 1)
        self.labels = labels
        self.batch_size = batch_size
        self.per_record = per_record
        self.shuffle = shuffle
        self.generator = generator

    def __len__(self):
        total = len(self.labels) * self.per_record
        return total // self.batch_size if self.shuffle else -(-total // self.batch_size)

    def __iter__(self):
        places = self.views.size(2)
        which = torch.arange(len(self.labels)).repeat_interleave(self.per_record)
        if self.shuffle:
            which = which[torch.randperm(len(which), generator=self.generator)]
            starts = torch.randint(places, (len(which),), generator=self.generator)
        else:
            starts = torch.linspace(0, places - 1, self.per_record).long().repeat(len(self.labels))
        for number in range(len(self)):
            part = slice(number * self.batch_size, (number + 1) * self.batch_size)
            yield self.views[which[part], :, starts[part]], self.labels[which[part]]


def augment(batch, generator):
    """A random gain for each channel, a random sign for each window and a little noise."""
    gain = torch.empty(batch.size(0), batch.size(1), 1).uniform_(0.85, 1.15, generator=generator)
    sign = torch.randint(0, 2, (batch.size(0), 1, 1), generator=generator) * 2 - 1
    noise = torch.randn(batch.shape, generator=generator)
    return (batch * (gain * sign)).add_(noise, alpha=0.05)


def load(folder, length, batch_size, generator):
    with open(f"{folder}/labels.json") as file:
        meta = json.load(file)
    records = torch.from_numpy(np.load(f"{folder}/records.npy"))
    labels = torch.tensor(meta["labels"])
    held = torch.zeros(len(labels), dtype=torch.bool)
    held[meta["validation"]] = True
    mean = records[~held].mean((0, 2), keepdim=True)
    std = records[~held].std((0, 2), keepdim=True)
    records = (records - mean) / std
    train = Windows(records[~held], labels[~held], length, batch_size, 6, True, generator)
    val = Windows(records[held], labels[held], length, batch_size, 4, False)
    return train, val, meta["states"]
