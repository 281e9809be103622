"""Asking how many there are changes nothing."""

from __future__ import annotations

import random
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import BatchSampler, DataLoader, RandomSampler, Sampler, TensorDataset

from diagnose.run.child.lengths import length

ROWS = TensorDataset(torch.arange(12))


class Shuffled(Sampler[list[int]]):
    """Counts its batches by going through them, and shuffles with what it is given."""

    def __init__(self, **kept: Any) -> None:
        vars(self).update(kept)
        self.generator = kept.get("generator")

    def __iter__(self) -> Iterator[list[int]]:
        random.random(), np.random.rand()
        order = torch.randperm(12, generator=self.generator).tolist()
        yield from (order[at : at + 4] for at in range(0, 12, 4))

    def __len__(self) -> int:
        return sum(1 for _ in self)


def states() -> list[Any]:
    return [torch.get_rng_state().tolist(), random.getstate(), np.random.get_state()[1].tolist()]  # type: ignore[index]


def test_global_generators_are_where_they_were() -> None:
    before = states()
    assert length(DataLoader(ROWS, batch_sampler=Shuffled())) == 3
    assert states() == before


@pytest.mark.parametrize(
    "kept",
    [torch.Generator(), np.random.default_rng(0), random.Random(0)],
    ids=lambda kept: type(kept).__module__,
)
def test_a_sampler_with_a_generator_of_its_own_is_not_asked(kept: Any) -> None:
    sampler = Shuffled(**{"generator" if isinstance(kept, torch.Generator) else "kept": kept})
    before = sampler.generator.get_state().tolist() if sampler.generator is not None else None
    assert length(DataLoader(ROWS, batch_sampler=sampler)) is None
    inner = BatchSampler(sampler, 2, drop_last=False)  # type: ignore[arg-type]
    assert length(inner) is None
    assert before is None or sampler.generator.get_state().tolist() == before  # type: ignore[union-attr]


def test_torchs_own_are_asked_whatever_they_draw_from() -> None:
    by_generator = RandomSampler(ROWS, generator=torch.Generator())
    assert length(DataLoader(ROWS, batch_size=5, sampler=by_generator)) == 3
    assert length(DataLoader(ROWS, batch_size=5, shuffle=True, drop_last=True)) == 2


class Endless(torch.utils.data.IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(3))


def test_what_has_no_length_has_none() -> None:
    assert length(DataLoader(Endless())) is None and length(object()) is None
