"""Details that would take too much memory, or too long to read."""

from __future__ import annotations

import sys
from collections.abc import Callable

import pytest

from diagnose.run.child.phases import python_calls
from diagnose.run.child.phases.python_calls import PythonCalls
from diagnose.run.child.phases.schedule import SECOND
from diagnose.run.child.writing import GIVEN_UP

from ..running import Recorded


def steps_that_fit(monkeypatch: pytest.MonkeyPatch, available: float, step_s: float) -> int:
    monkeypatch.setattr(python_calls, "available_bytes", lambda: int(available))
    return PythonCalls(2).steps_that_fit(int(step_s * SECOND), 1, 2)


@pytest.mark.parametrize(
    ("available", "step_s", "steps"),
    [
        (100e9, 0.1, 2),  # 500,000 calls in each, of a million
        (100e9, 0.2, 1),
        (100e9, 0.21, 0),
        (1e9, 0.03, 2),  # half a GB is enough for 320,500 calls: 150,000 in each
        (1e9, 0.06, 1),
        (1e9, 0.07, 0),
        (1e9, 0.0, 2),  # nobody knows how long a step takes
    ],
)
def test_what_was_not_counted_is_as_much_as_time_allows(
    monkeypatch: pytest.MonkeyPatch, available: float, step_s: float, steps: int
) -> None:
    assert steps_that_fit(monkeypatch, available, step_s) == steps


def test_the_last_detail_may_take_longer(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_calls, "available_bytes", lambda: 100_000_000_000)
    steps = PythonCalls(2).steps_that_fit
    assert steps(SECOND // 10, 1, 2, last=True) == 2  # half a million calls each
    assert steps(SECOND * 7 // 10, 1, 2, last=True) == 1  # 3.5 million
    assert steps(SECOND * 9 // 10, 1, 2, last=True) == 0
    monkeypatch.setattr(python_calls, "available_bytes", lambda: 8_000_000_000)
    assert steps(SECOND * 7 // 10, 1, 2, last=True) == 0  # of 2.56 million for which there is memory


def test_calls_are_counted_where_there_may_be_too_many(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_calls, "available_bytes", lambda: 1_000_000_000)
    calls = PythonCalls(2)
    calls.count(SECOND // 100)
    assert sys.getprofile() is None  # 100,000 calls at most: nothing is counted
    calls.count(SECOND)
    for _ in range(200_000):
        abs(1)
    calls.end()
    calls.end()
    assert sys.getprofile() is None
    assert calls.steps_that_fit(SECOND, 1, 2) == 1  # of 200,000 and a few
    assert calls.steps_that_fit(SECOND, 2, 2) == 0
    calls.count(SECOND)
    assert sys.getprofile() is None  # once is enough


def test_another_profiler_is_left_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(python_calls, "available_bytes", lambda: 1_000_000_000)
    calls, before = PythonCalls(2), sys.getprofile()
    sys.setprofile(lambda *given: None)
    try:
        theirs = sys.getprofile()
        calls.count(SECOND)
        calls.end()
        assert sys.getprofile() is theirs
    finally:
        sys.setprofile(before)
    assert calls.steps_that_fit(SECOND, 1, 2) == 0


def test_a_detail_of_too_many_calls_is_left_out(run_script: Callable[..., Recorded]) -> None:
    """32,000 calls fit; 200,000 are made in a step."""
    run = run_script("many_calls", "200000", "0")
    assert run.steps_in("timeline") == 4 and run.steps_in("plain") >= 5
    assert "detail" not in [phase["name"] for phase in run.steps["phases"]]
    assert f"The detail {GIVEN_UP}" in run.steps["notes"]


def test_long_steps_with_few_calls_have_one(run_script: Callable[..., Recorded]) -> None:
    run = run_script("many_calls", "10", "60")
    assert run.steps_in("detail") == 1 and run.steps["notes"] == []


def test_counting_ends_with_a_recording_that_is_given_up(run_script: Callable[..., Recorded]) -> None:
    run = run_script("given_up_counting", steps=None, keep_going=True)
    assert f"The timeline {GIVEN_UP}" in run.steps["notes"]
    assert "counting: True" in run.stdout and "profiler at the end: None" in run.stdout
