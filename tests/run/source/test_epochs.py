"""How many steps a script's loops have left, counted by hand."""

from __future__ import annotations

import contextlib
import importlib.util
from pathlib import Path
from typing import Any

import pytest

from diagnose.run.child.places import Places
from diagnose.run.child.source.epochs import UNKNOWN, Round, StepsLeft, rounds_left

FLAT = """
def train(tick):
    for step in range(100):
        tick()
"""
NESTED = """
def epoch(tick, number):
    batches = [0] * 10
    for i, batch in enumerate(batches):
        if i % 2:
            tick()

def train(tick):
    for fold in range(3):
        for number in range(4):
            epoch(tick, number)
"""
OVER_A_LOADER = """
def train(tick):
    for epoch in range(5):
        for batch in loader():
            tick()

def loader():
    return iter("0123456789")
"""
ENDLESS = """
def train(tick):
    while True:
        for step in range(10):
            tick()
"""


def loaded(folder: Path, source: str) -> Any:
    path = folder / "script.py"
    path.write_text(source)
    spec = importlib.util.spec_from_file_location("script", path)
    assert spec is not None and spec.loader is not None
    script: Any = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(script)
    return script


def told(folder: Path, source: str, length: int | None = None) -> list[float | None]:
    """What is left at each tick, from the second on."""
    script = loaded(folder, source)
    left = StepsLeft(Places(str(folder), str(folder)))
    said: list[float | None] = []
    ticks = 0

    class Enough(Exception):
        pass

    def tick() -> None:
        nonlocal ticks
        ticks += 1
        batches = UNKNOWN if length is None else Round((ticks - 1) % length, length)
        if ticks == 1:
            left.begin()
        said.append(left.look(ticks, batches))
        if ticks == 70:
            raise Enough

    with contextlib.suppress(Enough):
        script.train(tick)
    assert said[0] is None
    return said[1:]


def test_of_one_loop(tmp_path: Path) -> None:
    said = told(tmp_path, FLAT)
    assert said[0] == 98.0
    assert said[48] == 50.0


def test_of_loops_in_loops_and_steps_of_two_rounds(tmp_path: Path) -> None:
    said = told(tmp_path, NESTED)
    assert len(said) == 3 * 4 * 5 - 1
    # the second tick is round 3 of 120; a tick is two rounds
    assert said[0] == (119 - 3) / 2
    assert said[-1] == 0.0


COUNTED = """
def train(tick):
    step, batches = 0, [0] * 100
    while {test}:
        tick()
        {rise}
"""


@pytest.mark.parametrize("test", ["step < 100", "99 >= step", "step < len(batches) and batches"])
@pytest.mark.parametrize("rise", ["step += 1", "step = step + 1"])
def test_of_a_loop_that_counts(tmp_path: Path, test: str, rise: str) -> None:
    """The second tick is in round 1 of 100: 98 follow."""
    assert told(tmp_path, COUNTED.format(test=test, rise=rise))[0] == 98.0


def test_of_a_loop_that_counts_by_three(tmp_path: Path) -> None:
    """Rounds with 0, 3 … 99: 34."""
    assert told(tmp_path, COUNTED.format(test="step < 100", rise="step += 3"))[0] == 32.0


def test_of_a_count_that_does_not_begin_at_0(tmp_path: Path) -> None:
    """Below 0 there is no round to tell; from 0 on each tick tells: in round 1 of 100, 98 follow."""
    said = told(tmp_path, COUNTED.format(test="step < 100", rise="step += 1").replace("0, [0]", "-3, [0]"))
    assert said[:2] == [None, None]
    assert said[3] == 98.0


@pytest.mark.parametrize(
    ("test", "rise"),
    [
        ("step < 100", "step += tick() or 1"),
        ("step < 100", "for batch in [1, 2]: step += 1"),  # in a loop of its own
        ("batches", "step += 1"),
        ("step - 5 < 100", "step += 1"),
        ("step < 100 or batches", "step += 1"),
    ],
)
def test_of_a_loop_that_does_not_say_how_it_counts(tmp_path: Path, test: str, rise: str) -> None:
    assert set(told(tmp_path, COUNTED.format(test=test, rise=rise))) == {None}


def test_of_a_loop_over_batches(tmp_path: Path) -> None:
    assert told(tmp_path, OVER_A_LOADER, length=10)[0] == 48.0


@pytest.mark.parametrize("source", [OVER_A_LOADER, ENDLESS])
def test_a_loop_that_does_not_tell(tmp_path: Path, source: str) -> None:
    assert set(told(tmp_path, source)) == {None}


@pytest.mark.parametrize(
    ("source", "at_first", "at_last"),
    [
        (FLAT, 99, 0),
        (NESTED, 8, 0),  # the second of ten batches at first, the last of everything at last
        (OVER_A_LOADER, 4, 0),
        (ENDLESS, 9, 9),
    ],
)
def test_the_most_rounds_that_a_loop_has_left(
    tmp_path: Path, source: str, at_first: int, at_last: int
) -> None:
    script = loaded(tmp_path, source)
    places, said = Places(str(tmp_path), str(tmp_path)), []

    def tick() -> None:
        said.append(rounds_left(places))
        if len(said) == 101:
            raise StopIteration

    with contextlib.suppress(StopIteration):
        script.train(tick)
    assert (said[0], said[-1]) == (at_first, at_last)
