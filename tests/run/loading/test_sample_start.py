"""What samples begin with before anything random."""

from __future__ import annotations

import random
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from torch.utils.data import DataLoader, Dataset

from diagnose.run.child.loading import sample_start
from diagnose.run.child.loading.first_fetches import watch_first_fetches
from diagnose.run.child.loading.loaders import _sample_made
from diagnose.run.child.places import Places

HERE = Path(__file__)
LINES = HERE.read_text().splitlines()
CLOCK_NS = [0]


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> None:
    """Nothing takes time but `busy`."""
    monkeypatch.setattr(sample_start, "perf_counter_ns", lambda: CLOCK_NS[0])


def busy(ms: float) -> None:
    CLOCK_NS[0] += round(ms * 1e6)


class Twelve(Dataset):
    def __init__(self) -> None:
        self.own = np.random.default_rng(0)

    def __len__(self) -> int:
        return 12


class Augmented(Twelve):
    """6 ms before anything is drawn, 2 ms after."""

    def __getitem__(self, index: int) -> float:
        busy(1.0)
        busy(5.0)
        sign = -1.0 if random.random() < 0.5 else 1.0
        busy(2.0)
        return sign * index


class SometimesAugmented(Twelve):
    """Every third sample draws, after 2 ms; the 6 ms after belong to the others' end."""

    def __getitem__(self, index: int) -> float:
        busy(2.0)
        if index % 3 == 0:
            self.own.random()
        busy(6.0)
        return float(index)


class RandomFirst(Twelve):
    def __getitem__(self, index: int) -> float:
        other = int(torch.randint(12, ()))
        busy(2.0)
        return float(index + other)


class InALoop(Twelve):
    """5 ms in 50 rounds, then 5 ms after something is drawn."""

    def __getitem__(self, index: int) -> float:
        for _ in range(50):
            busy(0.1)
        sign = random.choice([-1.0, 1.0])
        busy(5.0)
        return sign * index


class ByHelper(Twelve):
    """The line that calls what draws is random as a whole."""

    def __getitem__(self, index: int) -> float:
        busy(2.0)
        return self._changed(float(index))

    def _changed(self, value: float) -> float:
        busy(2.0)
        return value + float(np.random.rand())


def told(dataset: Dataset, collate: Callable[[Any], Any] | None = None) -> Any:
    iterator = iter(DataLoader(dataset, batch_size=3, collate_fn=collate))
    made = _sample_made(dataset, Places(str(HERE.parent), str(HERE.parent)))
    record: dict[str, Any] = {"draws_random": None, "sample_start": None, "sample_made": made}
    watch_first_fetches(iterator, record)
    assert len(list(iterator)) == 4
    assert sys.gettrace() is None and "fetch" not in vars(iterator._dataset_fetcher)
    return record["sample_start"]


def text_of(line: int | None) -> str:
    return LINES[line - 1].strip() if line else ""


@pytest.mark.parametrize(
    ("dataset", "share", "line", "draws"),
    [
        (Augmented(), 6 / 8, "busy(5.0)", "sign = -1.0 if random.random() < 0.5 else 1.0"),
        (SometimesAugmented(), 2 / 8, "busy(2.0)", "self.own.random()"),
        (ByHelper(), 2 / 4, "busy(2.0)", "return self._changed(float(index))"),
    ],
    ids=lambda value: type(value).__name__ if isinstance(value, Dataset) else "",
)
def test_what_comes_before_the_first_random_line(
    dataset: Dataset, share: float, line: str, draws: str
) -> None:
    found = told(dataset)
    assert text_of(found["line"]) == line and text_of(found["draws"]) == draws
    assert found["share"] == share


def test_generators_are_compared_once_for_each_line(monkeypatch: pytest.MonkeyPatch) -> None:
    """Before the function's first line and each of the five, and in the end: not in every round."""
    compared: list[Any] = []
    original = sample_start.generator_states

    def states(dataset: Any) -> Any:
        compared.append(dataset)
        return original(dataset)

    monkeypatch.setattr(sample_start, "generator_states", states)
    found = told(InALoop())
    assert len(compared) == 3 * 7  # samples of the batch
    assert found["share"] == 0.5
    assert text_of(found["draws"]) == "sign = random.choice([-1.0, 1.0])"


def test_nothing_comes_before_it_where_it_is_first() -> None:
    found = told(RandomFirst())
    assert found["share"] == 0 and text_of(found["draws"]) == "other = int(torch.randint(12, ()))"


class Fixed(Twelve):
    def __getitem__(self, index: int) -> float:
        busy(1.0)
        return float(index)


def test_samples_are_the_same_whole_where_only_the_batch_is_random() -> None:
    found = told(Fixed(), lambda samples: torch.tensor(samples) + torch.rand(1))
    assert found["share"] == 1.0 and found["draws"] is None


def test_nothing_is_told_where_nothing_is_random() -> None:
    assert told(Fixed()) is None


def test_a_tool_that_traces_already_goes_on() -> None:
    def trace(frame: Any, event: str, argument: Any) -> None:
        return None

    iterator = iter(DataLoader(Augmented(), batch_size=3))
    made = _sample_made(Augmented(), Places(str(HERE.parent), str(HERE.parent)))
    record: dict[str, Any] = {"draws_random": True, "sample_start": None, "sample_made": made}
    watch_first_fetches(iterator, record)
    sys.settrace(trace)
    try:
        list(iterator)
        assert sys.gettrace() is trace
    finally:
        sys.settrace(None)
    assert record["sample_start"] is None


def test_an_error_of_the_scripts_is_the_scripts() -> None:
    class Broken(Augmented):
        def __getitem__(self, index: int) -> float:
            value = index * random.random()
            if index == 7:
                raise ValueError("no such sample")
            return value

    with pytest.raises(ValueError, match="no such sample"):
        told(Broken())
    assert sys.gettrace() is None


def test_an_error_of_ours_is_not(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(dataset: Any) -> None:
        raise RuntimeError("ours")

    monkeypatch.setattr(sample_start, "generator_states", fail)
    assert told(Augmented()) is None


def test_a_debugger_that_comes_meanwhile_stays() -> None:
    if sys.gettrace() is not None:
        pytest.skip("somebody traces the tests")

    def theirs(*_: Any) -> None: ...

    try:
        sample_start.look_at_start(
            Augmented(), {"line": 1, "function": "", "file": ""}, lambda: sys.settrace(theirs)
        )
        assert sys.gettrace() is theirs
    finally:
        sys.settrace(None)
