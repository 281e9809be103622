"""Until when runs may last, on a clock that is set by hand."""

from __future__ import annotations

import math

import pytest

from diagnose.verify.deadline import Deadline


class Clock:
    def __init__(self) -> None:
        self.now_s = 1000.0

    def __call__(self) -> float:
        return self.now_s


def test_a_run_is_allowed_that_ends_in_time() -> None:
    clock = Clock()
    deadline = Deadline.after(10.0, clock)
    assert deadline.allows(10.0) and not deadline.allows(10.1)
    clock.now_s += 6.0
    assert (deadline.left_s, deadline.allows(4.0), deadline.allows(4.1)) == (4.0, True, False)
    clock.now_s += 6.0
    assert deadline.left_s == 0.0 and not deadline.allows(0.0)


def test_a_part_of_it_has_a_share_of_what_is_left_but_its_runs_may_use_all() -> None:
    clock = Clock()
    whole = Deadline.after(100.0, clock)
    clock.now_s += 20.0
    part = whole.part(0.25)
    assert part.allows(20.0) and not part.allows(20.1)
    assert part.limited(None) == 80.0
    assert part.part(0.5).limited(None) == 80.0


def test_a_part_has_what_it_needs_at_least_but_never_more_than_the_whole() -> None:
    whole = Deadline.after(100.0, Clock())
    assert whole.part(0.1, at_least_s=30.0).left_s == pytest.approx(30.0)
    assert whole.part(0.1, at_least_s=300.0).left_s == pytest.approx(100.0)


def test_the_limit_of_a_run_is_cut_to_what_is_left() -> None:
    deadline = Deadline.after(10.0, Clock())
    assert (deadline.limited(3.0), deadline.limited(60.0), deadline.limited(None)) == (3.0, 10.0, 10.0)


def test_without_one_everything_is_allowed() -> None:
    deadline = Deadline.never()
    assert deadline.allows(1e9) and deadline.part(0.3).allows(1e9)
    assert deadline.limited(5.0) == 5.0 and deadline.limited(None) is None
    assert math.isinf(deadline.left_s)
