"""Which calls of a line are tried."""

from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from diagnose.run.child.places import Place
from diagnose.run.child.products import tried as tried_calls
from diagnose.run.child.products.tried import Allowance, Tried
from diagnose.run.child.values import Call, Values

LINE, OTHER = Place("/job/train.py", 20, "main"), Place("/job/train.py", 30, "main")


def call(columns: int = 3, **options: object) -> Call:
    return Call(Values(lambda: 0), torch.mm, (torch.zeros(2, columns), torch.zeros(columns, 2)), options)


def counted(*shares: float | None) -> tuple[Callable[[], float | None], list[float | None]]:
    """A trial that gives these in turn, and what is left of them."""
    left = list(shares)
    return (lambda: left.pop(0)), left


def test_calls_of_one_kind_are_tried_once() -> None:
    tried, (trial, left) = Tried(), counted(0.25)
    assert [tried.left("sparse", LINE, call(), trial) for _ in range(3)] == [0.25] * 3 and not left


def test_where_a_call_was_not_tried_the_next_one_is() -> None:
    """It took too long, as any may where another program has the core."""
    tried, (trial, left) = Tried(), counted(None, 0.25)
    assert [tried.left("sparse", LINE, call(), trial) for _ in range(3)] == [None, 0.25, 0.25] and not left


def test_other_sizes_options_lines_and_ways_are_tried_too() -> None:
    tried, (trial, left) = Tried(), counted(0.1, 0.2, 0.3, 0.4, 0.5)
    found = [
        tried.left("sparse", LINE, call(), trial),
        tried.left("sparse", LINE, call(columns=4), trial),
        tried.left("sparse", LINE, call(out_dtype=1), trial),
        tried.left("sparse", OTHER, call(), trial),
        tried.left("matrices", LINE, call(), trial),
    ]
    assert found == [0.1, 0.2, 0.3, 0.4, 0.5] and not left


def test_what_comes_after_four_kinds_counts_as_they_do_on_average() -> None:
    tried, (trial, left) = Tried(), counted(0.1, 0.4, 0.4, 0.7, 0.9)
    for columns in range(1, 5):
        tried.left("sparse", LINE, call(columns), trial)
    assert tried.left("sparse", LINE, call(5), trial) == pytest.approx(0.4) and left == [0.9]


def test_after_long_trials_other_kinds_are_not_tried(monkeypatch: pytest.MonkeyPatch) -> None:
    clock = [0]
    monkeypatch.setattr("diagnose.run.child.products.tried.perf_counter_ns", lambda: clock[0])

    def trial() -> float:
        clock[0] += 300_000_000
        return 0.5

    tried = Tried()
    for columns in (1, 2, 3, 4):
        assert tried.left("sparse", LINE, call(columns), trial) == 0.5
    assert clock == [600_000_000]


def test_all_trials_of_a_look_share_its_time(monkeypatch: pytest.MonkeyPatch) -> None:
    """Each takes 3 of 5 seconds, at other lines and for other ways: there is time for two, and what they told
    stays.
    """
    clock = iter(range(0, 1000, 3))
    monkeypatch.setattr(tried_calls, "perf_counter_ns", lambda: next(clock) * 1_000_000_000)
    allowance, (trial, left) = Allowance(5_000_000_000), counted(0.25, 0.5, 0.75)
    some, others = Tried(allowance), Tried(allowance)
    assert some.left("sparse", LINE, call(), trial) == 0.25
    assert others.left("order", OTHER, call(), trial) == 0.5
    assert some.left("sparse", OTHER, call(), trial) is None and left == [0.75]
    assert some.left("sparse", LINE, call(), trial) == 0.25
