"""Where a data set makes a sample."""

from __future__ import annotations

import os
from collections.abc import Iterator

import torch
from torch.utils.data import ConcatDataset, Dataset, IterableDataset, Subset, TensorDataset

from diagnose.run.child.loaders import _sample_made
from diagnose.run.child.places import Places

FOLDER = os.path.dirname(__file__)


class Rows(Dataset[int]):
    def __getitem__(self, index: int) -> int:
        return index

    def __len__(self) -> int:
        return 4


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(4))


def test_of_torchs_own_around_another_it_is_the_inner_one() -> None:
    places = Places(FOLDER, FOLDER)
    line = Rows.__getitem__.__code__.co_firstlineno
    for dataset in (Rows(), Subset(Rows(), [1]), ConcatDataset([Subset(Rows(), [0]), Rows()])):
        found = _sample_made(dataset, places)
        assert found == {"file": __file__, "line": line, "function": "__getitem__"}
    found = _sample_made(Stream(), places)
    assert found is not None and found["function"] == "__iter__"


def test_torchs_own_alone_have_no_line_of_the_users() -> None:
    places = Places(FOLDER, FOLDER)
    assert _sample_made(TensorDataset(torch.zeros(4)), places) is None
    assert _sample_made([1, 2, 3], places) is None
