"""Functions held against each other, with a clock that they move themselves."""

from __future__ import annotations

import random
from collections.abc import Callable

import pytest

from diagnose.verify.functions import Timed, held_against


class Clock:
    """Seconds; a function takes as long as it says, give or take ``noise``."""

    def __init__(self, noise: float = 0.001, seed: int = 0) -> None:
        self.now, self._noise, self._random = 0.0, noise, random.Random(seed)

    def __call__(self) -> float:
        return self.now

    def taking(self, ms: float) -> Callable[[], None]:
        def function() -> None:
            self.now += ms / 1000 * self._random.lognormvariate(0, self._noise)

        return function


def held(percent: float, tolerance: float, noise: float = 0.001, budget_s: float = 60.0) -> Timed:
    clock = Clock(noise)
    return held_against(
        clock.taking(1.0),
        clock.taking(1 + percent / 100),
        tolerance=tolerance,
        budget_s=budget_s,
        clock=clock,
    )


@pytest.mark.parametrize(
    ("percent", "tolerance", "decision"),
    [(10, 0.05, "slower"), (10, 0.2, "not_slower"), (0, 0.05, "not_slower"), (-30, 0.0, "not_slower")],
)
def test_a_difference_beyond_the_tolerance_is_slower(percent: float, tolerance: float, decision: str) -> None:
    timed = held(percent, tolerance)
    assert timed.decision == decision and timed.comparison.pairs == 4
    assert timed.comparison.change == pytest.approx(percent / 100, abs=0.005)
    assert 20 <= timed.calls * min(1, 1 + percent / 100) <= 25  # ms of a block: 20, and a tenth to be sure


def test_what_cannot_be_told_is_told_so_within_the_time() -> None:
    timed = held(5.2, 0.05, noise=0.5, budget_s=0.5)
    assert timed.decision == "unclear" and timed.pairs_needed > timed.comparison.pairs


def test_what_a_function_raises_is_raised() -> None:
    def fails() -> None:
        raise KeyError("mine")

    with pytest.raises(KeyError, match="mine"):
        held_against(fails, fails, tolerance=0.0, budget_s=1.0)
