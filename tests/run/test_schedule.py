"""The schedule on its own: counts and times."""

from __future__ import annotations

import pytest

from diagnose.run.child import schedule
from diagnose.run.child.schedule import SECOND, Budget, budgets, period, settled


@pytest.mark.parametrize(
    ("sources", "expected"),
    [
        ("", 1),
        ("a", 1),
        ("aaaa", 1),
        ("ababab", 2),
        ("aaaaabaaaaab", 6),
        ("aaaaabaaaaa", 1),
        ("xxabcabcabcabc", 3),
        ("abcdefghij", 1),
        ("aaaaaaaaabbbbbbbbbbbbbbbbbb", 1),
    ],
)
def test_the_period_of_several_optimizers(sources: str, expected: int) -> None:
    assert period(sources) == expected


def test_warm_up_ends_when_steps_take_the_same_time() -> None:
    assert settled([10, 11, 12], 33)
    assert not settled([44_000, 11, 12], 44_023)
    assert settled([44_000, 11, 12, 11], 44_034)
    assert not settled([10, 11], 21)


def test_warm_up_ends_when_patience_is_used_up() -> None:
    assert settled([10, 30] * 15, 600)
    assert not settled([10, 30] * 14, 560)
    assert settled([7 * SECOND, 20 * SECOND, 7 * SECOND], 34 * SECOND)
    assert settled([21 * SECOND], 21 * SECOND)


def test_budgets_scale_with_the_steps() -> None:
    assert {name: budget.steps for name, budget in budgets(8).items()} == {"plain": 20, "parts": 16, "timeline": 8, "detail": 2}
    assert {name: budget.steps for name, budget in budgets(1).items()} == {"plain": 5, "parts": 2, "timeline": 1, "detail": 1}
    more_plain = budgets(2, plain_steps=40)
    assert {name: budget.steps for name, budget in more_plain.items()} == {"plain": 40, "parts": 4, "timeline": 2, "detail": 1}


def test_without_time_only_steps_count() -> None:
    assert not settled([10] * 9, 90, timed=False)
    assert settled([10, 99] * 5, 1, timed=False)
    untimed = budgets(8, timed=False)
    assert {name: budget.steps for name, budget in untimed.items()} == {"plain": 20, "parts": 8, "timeline": 8, "detail": 2}
    for budget in untimed.values():
        assert not budget.used_up(budget.steps - 1, 9999 * SECOND)
        assert budget.used_up(budget.steps, 1)
        assert budget.expected_steps(100 * SECOND) == budget.steps


def test_a_budget_by_steps_and_by_time() -> None:
    budget = Budget(20, at_least=5, time_limit_ns=30 * SECOND)
    assert budget.used_up(20, 1)
    assert not budget.used_up(4, 11 * SECOND)
    assert budget.used_up(5, 11 * SECOND)
    assert budget.used_up(1, 31 * SECOND)
    assert not budget.used_up(0, 99 * SECOND)
    assert schedule.COLD_STEPS == 2
