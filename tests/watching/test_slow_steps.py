"""Slow steps by their cause."""

from __future__ import annotations

import pytest

from diagnose.watched.slow_steps import slow_kinds
from tests.watching.logs import LOSS, SAVE, log, slow, window


def test_what_comes_back_is_told_with_its_period_and_line() -> None:
    # every hundredth step saves: 100 ms beside 10 ms, one a window
    windows = [
        window(
            100 * at,
            slow=[slow(100 * at + 50, 100.0)],
            slow_count=1,
            lost_ms=90.0,
            s=1.09,
            lines=[(0, 10), (3, 1)],
        )
        for at in range(10)
    ]
    (kind,) = slow_kinds(log(windows))
    assert (kind.kind, kind.line, kind.count, kind.every) == ("line", SAVE, 10, 100)
    assert kind.lost_s == pytest.approx(0.9)
    assert kind.worst.ms == 100.0


def test_the_collector_and_the_input_are_kinds_of_their_own() -> None:
    steps = [slow(10, 60.0, gc_ms=45.0), slow(40, 50.0, input_ms=39.0), slow(70, 40.0, stack=-1)]
    windows = [window(0, slow=steps, slow_count=3, lost_ms=120.0)]
    kinds = slow_kinds(log(windows))
    assert [(kind.kind, kind.count) for kind in kinds] == [("garbage", 1), ("input", 1), ("unknown", 1)]
    # 50, 40 and 30 ms beyond a usual step
    assert [round(kind.lost_s, 3) for kind in kinds] == [0.05, 0.04, 0.03]


def test_the_worst_stand_for_all() -> None:
    windows = [window(0, slow=[slow(10, 60.0), slow(20, 60.0)], slow_count=20, lost_ms=800.0)]
    (kind,) = slow_kinds(log(windows))
    assert kind.count == 20
    assert kind.lost_s == pytest.approx(0.8)


def test_a_line_of_usual_steps_is_named_only_where_there_is_no_other() -> None:
    windows = [window(0, slow=[slow(10, 60.0, stack=0)], slow_count=1, lost_ms=50.0)]
    (kind,) = slow_kinds(log(windows))
    assert kind.line == LOSS


def test_irregular_steps_have_no_period() -> None:
    steps = [slow(step, 60.0) for step in (3, 14, 15, 92, 65, 35, 89)]
    windows = [window(0, slow=sorted(steps), slow_count=7, lost_ms=350.0)]
    (kind,) = slow_kinds(log(windows))
    assert kind.every is None


def test_steps_that_nobody_saw_belong_to_those_that_come_as_often() -> None:
    # every fiftieth step validates; every third of these was looked at
    steps = [slow(50 * at, 60.0, stack=3 if at % 3 == 0 else -1) for at in range(15)]
    windows = [
        window(0, slow=steps[:8], slow_count=8, lost_ms=400.0, lines=[(0, 60), (3, 1)]),
        window(400, slow=steps[8:], slow_count=7, lost_ms=350.0, lines=[(0, 60), (3, 1)]),
    ]
    kinds = slow_kinds(log(windows))
    assert [(kind.line, kind.count) for kind in kinds if kind.every == 50] == [(SAVE, 15)]
