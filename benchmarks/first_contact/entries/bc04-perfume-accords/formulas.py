"""A made-up perfumer's archive: formulas as ragged lists of materials with doses."""
from typing import NamedTuple

import torch


class Batch(NamedTuple):
    materials: torch.Tensor
    doses: torch.Tensor
    offsets: torch.Tensor
    accords: torch.Tensor
    lasting: torch.Tensor


class Archive:
    """Formulas end to end: `starts` holds where each one begins."""

    def __init__(self, materials, doses, starts, accords, lasting):
        self.materials, self.doses, self.starts = materials, doses, starts
        self.accords, self.lasting = accords, lasting

    def __len__(self):
        return len(self.starts) - 1

    def take(self, rows):
        begin = self.starts[rows]
        counts = self.starts[rows + 1] - begin
        offsets = counts.cumsum(0) - counts
        where = torch.repeat_interleave(begin - offsets, counts) + torch.arange(int(counts.sum()))
        return Batch(self.materials[where], self.doses[where], offsets.int(), self.accords[rows], self.lasting[rows])

    def shuffled(self, size, generator):
        order = torch.randperm(len(self), generator=generator)
        for rows in order[: len(order) // size * size].split(size):
            yield self.take(rows)

    def in_order(self, size):
        for rows in torch.arange(len(self)).split(size):
            yield self.take(rows)


def compose(count, materials, accords, seed):
    g = torch.Generator().manual_seed(seed)
    world = torch.Generator().manual_seed(1)
    smell = torch.randn(materials, accords, generator=world) * (torch.rand(materials, accords, generator=world) < 0.06)
    tenacity = torch.rand(materials, generator=world)
    lengths = torch.randint(4, 60, (count,), generator=g)
    starts = torch.cat([torch.zeros(1, dtype=torch.long), lengths.cumsum(0)])
    total = int(starts[-1])
    popular = (torch.rand(total, generator=g) ** 2.5 * materials).long()
    doses = torch.rand(total, generator=g) ** 3 + 0.01
    owner = torch.repeat_interleave(torch.arange(count), lengths)
    sums = torch.zeros(count).index_add_(0, owner, doses)
    doses = doses / sums[owner]
    strength = torch.nn.functional.embedding_bag(popular, smell, starts[:-1], mode="sum", per_sample_weights=doses)
    strength = strength - strength.mean(0)
    labels = (strength + 0.1 * torch.randn(strength.shape, generator=g) > strength.std(0)).float()
    lasting = torch.zeros(count).index_add_(0, owner, doses * tenacity[popular])
    lasting = (lasting - lasting.mean()) / lasting.std()
    return Archive(popular.int(), doses, starts, labels, lasting)
