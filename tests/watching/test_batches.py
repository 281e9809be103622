"""How far a thread's DataLoaders are, and what they gave to steps."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, Sampler, TensorDataset

from diagnose.run.child.source.epochs import UNKNOWN, Round
from diagnose.run.child.watching.batches import Batches


@pytest.fixture
def batches() -> Iterator[Batches]:
    batches = Batches(1000)
    batches.install()
    yield batches
    batches.remove()


def loader(items: int = 20, **settings: Any) -> DataLoader[Any]:
    return DataLoader(TensorDataset(torch.zeros(items, 1)), batch_size=4, **settings)


def test_samples_are_those_of_the_loader_that_feeds_the_step(batches: Batches) -> None:
    training = iter(loader())
    for number in range(3):
        if number == 2:
            for _ in loader():
                pass  # a validation
        next(training)
        batches.tick()
    assert batches.samples == 3 * 4
    assert batches.round() == Round(2, 5)
    assert len(batches.waits) == 3 + 5 + 1  # the last one asked whether there is more


def test_steps_of_several_batches(batches: Batches) -> None:
    training = iter(loader())
    for _ in range(2):
        next(training)
        next(training)
        batches.tick()
    batches.tick()  # without one
    assert batches.samples == 16


def test_what_came_in_a_recording_is_of_no_step(batches: Batches) -> None:
    training = iter(loader())
    next(training)
    next(training)
    batches.forget()
    next(training)
    batches.tick()
    assert batches.samples == 4


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(8))


class OwnBatches(Sampler[list[int]]):
    def __iter__(self) -> Iterator[list[int]]:
        return iter([[0, 1], [2]])

    def __len__(self) -> int:
        raise AssertionError("of the script's own nothing is asked")


@pytest.mark.parametrize(
    "made",
    [
        lambda: DataLoader(Stream(), batch_size=2),
        lambda: DataLoader(TensorDataset(torch.zeros(3)), batch_sampler=OwnBatches()),
    ],
)
def test_loaders_whose_length_is_not_asked(batches: Batches, made: Any) -> None:
    assert batches.round() == UNKNOWN
    training = iter(made())
    next(training)
    batches.tick()
    assert batches.round() == UNKNOWN


def test_an_iterator_ends_when_the_script_lets_it_go(batches: Batches) -> None:
    next(iter(loader()))
    batches.tick()
    assert batches.round() == UNKNOWN
