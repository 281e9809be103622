"""Which loader feeds the steps, how many batches a step takes, and how long an epoch is:
observed on real loaders, then measured.
"""

from __future__ import annotations

import gc
from collections.abc import Callable, Iterator
from itertools import islice
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import pytest
import torch
from torch.utils.data import DataLoader, IterableDataset, dataloader

from diagnose.measure.areas.input import feeding_loader
from diagnose.measure.areas.input_rhythm import steps_into_epoch
from diagnose.measure.metrics import Measured
from diagnose.measure.missing import Missing
from diagnose.measure.recording import Recording
from diagnose.run.child.loading.feeding import Feeding
from diagnose.run.child.loading.loaders import Loaders
from diagnose.run.child.patching import Patches
from diagnose.run.child.places import Places

from ..running import Recorded

HERE = str(Path(__file__).parent)


class Observed:
    """A loop of this test, observed as the recorder does it; every tick is one of a
    plain phase and of a recording alike.
    """

    def __init__(self, ticks_per_step: int = 1) -> None:
        self._feeding = Feeding()
        self._loaders = Loaders(Places(HERE, HERE), self._feeding)
        self._patches = Patches()
        self._tick_ns: list[int] = []
        self._ticks_per_step = ticks_per_step

    def install(self) -> None:
        self._loaders.install()
        original, feeding = dataloader._BaseDataLoaderIter.__next__, self._feeding

        def __next__(iterator: Any) -> Any:
            with feeding.fetch(iterator):
                return original(iterator)

        self._patches.replace(dataloader._BaseDataLoaderIter, "__next__", __next__)

    def remove(self) -> None:
        self._patches.restore()
        self._loaders.remove()

    def tick(self) -> None:
        self._tick_ns.append(perf_counter_ns())
        self._feeding.tick()

    @property
    def measured(self) -> Measured:
        steps = len(self._tick_ns) / self._ticks_per_step
        clock = {
            "per_step": {"fetch": self._feeding.batches() / steps},
            "ticks_per_step": self._ticks_per_step,
            "phases": [{"name": "plain", "first_tick": 0, "tick_ns": self._tick_ns}],
        }
        return Measured(
            Recording(Path(), timeline=None, clock=clock, facts={"loaders": self._loaders.facts(steps)})
        )


@pytest.fixture
def observe() -> Iterator[Callable[..., Observed]]:
    made = []

    def begin(ticks_per_step: int = 1) -> Observed:
        made.append(Observed(ticks_per_step))
        made[-1].install()
        return made[-1]

    yield begin
    for one in made:
        one.remove()


def loader_of(batches: int, **settings: Any) -> DataLoader[Any]:
    """One line makes them all, as a helper of a script does."""
    return DataLoader(torch.zeros(2 * batches, 1), batch_size=2, **settings)  # type: ignore[arg-type]


def numbers(one: Measured) -> tuple[object, ...]:
    return one.metric("epoch_step_count"), one.fetches_per_step


def length_of_feeding(one: Measured) -> int:
    loader = feeding_loader(one)
    assert not isinstance(loader, Missing)
    return int(loader["dataset_length"])


def test_a_validation_loader_and_the_end_of_a_loader_are_no_batches_of_the_steps(
    observe: Callable[..., Observed],
) -> None:
    observed = observe()
    train, validation = loader_of(15), loader_of(40)
    for _ in range(3):
        for _ in train:
            observed.tick()
        for _ in validation:
            pass
    one = observed.measured
    assert numbers(one) == (15, 1)
    assert length_of_feeding(one) == 30
    # Step n is that of batch n: 15 and 30 begin an epoch. The first tick is that of batch 0,
    # so the first step is that of batch 1.
    assert steps_into_epoch(one).tolist() == [*range(1, 15), *range(15), *range(15)]


def test_gradient_accumulation(observe: Callable[..., Observed]) -> None:
    observed = observe()
    train, validation = loader_of(15), loader_of(5)
    for _ in range(3):
        for number, _ in enumerate(train):
            if number % 3 == 2:
                observed.tick()
        for _ in validation:
            pass
    assert numbers(observed.measured) == (5, 3)
    assert length_of_feeding(observed.measured) == 30


def test_two_loaders_at_once_and_two_ticks_a_step(observe: Callable[..., Observed]) -> None:
    observed = observe(ticks_per_step=2)
    pictures, noise = loader_of(15), loader_of(20)
    for _ in range(3):
        for _ in zip(pictures, noise, strict=False):
            observed.tick()
            observed.tick()
    one = observed.measured
    # zip asks the shorter one first, so the longer one brings 15 as well.
    assert numbers(one) == (15, 2)


def test_a_loader_that_is_begun_again_before_its_end(observe: Callable[..., Observed]) -> None:
    observed = observe()
    train = loader_of(15)
    for _ in range(3):
        for _ in islice(train, 6):
            observed.tick()
    assert numbers(observed.measured) == (6, 1)


def test_workers_that_persist_and_a_loader_made_anew_for_each_epoch(observe: Callable[..., Observed]) -> None:
    for persists in (True, False):
        observed = observe()
        train = loader_of(6, num_workers=1, persistent_workers=True) if persists else None
        for _ in range(3):
            for _ in train if train is not None else loader_of(6):
                observed.tick()
        assert numbers(observed.measured) == (6, 1)
        observed.remove()
    del train
    gc.collect()


class Stream(IterableDataset[int]):
    def __iter__(self) -> Iterator[int]:
        return iter(range(14))


def test_an_iterable_data_set(observe: Callable[..., Observed]) -> None:
    observed = observe()
    for _ in range(3):
        for _ in DataLoader(Stream(), batch_size=2):
            observed.tick()
    assert numbers(observed.measured) == (7, 1)


def test_a_new_iterator_for_each_step_makes_no_epochs(observe: Callable[..., Observed]) -> None:
    observed = observe()
    for _ in range(6):
        next(iter(loader_of(15)))
        observed.tick()
    one = observed.measured
    assert numbers(one) == (1, 1)
    assert isinstance(one.metric("epoch_ends_seen"), Missing)


def test_one_epoch_has_no_second(observe: Callable[..., Observed]) -> None:
    observed = observe()
    for _ in loader_of(15):
        observed.tick()
    assert isinstance(observed.measured.metric("epoch_step_count"), Missing)


def test_a_recording_without_what_was_not_written_once_is_judged_as_then() -> None:
    loaders = [
        {"dataset_length": 10, "batches_per_epoch": 5},
        {"dataset_length": 30, "batches_per_epoch": 15, "iterator_start_ms": [1, 1]},
    ]
    one = Measured(
        Recording(Path(), timeline=None, clock={"per_step": {"fetch": 3.0}}, facts={"loaders": loaders})
    )
    assert numbers(one) == (5, 3)


def test_what_is_recorded_of_a_script_with_two_loaders(run_script: Callable[..., Recorded]) -> None:
    run = run_script("epochs")
    assert run.steps["per_step"]["fetch"] == pytest.approx(3)
    train, validation = sorted(run.facts["loaders"], key=lambda one: one["dataset_length"])
    assert (train["dataset_length"], train["batches_per_step"], train["fed_share"]) == (
        30,
        pytest.approx(3),
        1,
    )
    assert validation["fed_share"] < 0.5
    assert train["function"] == validation["function"] == "loader_of"
    one = Measured(Recording(Path(), timeline=None, clock=run.steps, facts=run.facts))
    assert one.metric("epoch_step_count") == 5
