"""Where a data set makes a sample, and a loader a batch."""

from __future__ import annotations

import os
from collections.abc import Iterator
from functools import partial
from typing import Any

import torch
from torch.utils.data import (
    ConcatDataset,
    DataLoader,
    Dataset,
    IterableDataset,
    Subset,
    TensorDataset,
    default_collate,
)

from diagnose.run.child.loading.feeding import Feeding
from diagnose.run.child.loading.loaders import Loaders, _collated, _sample_made
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


def together(samples: list[int], fill: int = 0) -> list[int]:
    return [*samples, fill]


class Collate:
    def __call__(self, samples: list[int]) -> list[int]:
        return samples


def test_a_batch_is_made_by_a_function_a_partial_of_one_or_an_object() -> None:
    places = Places(FOLDER, FOLDER)
    line = together.__code__.co_firstlineno
    for function in (together, partial(together, fill=1)):
        assert _collated(function, places) == {"file": __file__, "line": line, "function": "together"}
    found = _collated(Collate(), places)
    assert found is not None and found["function"] == "__call__"
    assert _collated(default_collate, places) is None and _collated(len, places) is None


class Batches(DataLoader[int]):
    """A loader of the script's own."""

    def __init__(self, *arguments: Any, **settings: Any) -> None:
        super().__init__(*arguments, **settings)


def test_a_loader_of_an_own_class_is_made_where_that_is_called() -> None:
    loaders = Loaders(Places(FOLDER, FOLDER), Feeding())
    loaders.install()
    try:
        made = Batches(Rows(), batch_size=2)
        inside = next(iter(made))
    finally:
        loaders.remove()
    (record,) = loaders.facts(1.0)
    line = test_a_loader_of_an_own_class_is_made_where_that_is_called.__code__.co_firstlineno
    assert (record["file"], record["line"]) == (__file__, line + 4)
    assert record["function"].startswith("test_a_loader") and inside.tolist() == [0, 1]
