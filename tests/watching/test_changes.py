"""Changes for good, from one number after the other."""

from __future__ import annotations

import math
import random
from collections.abc import Callable
from statistics import median

import pytest

from diagnose.run.child.watching.changes import (
    AVERAGE,
    LEAST,
    TYPICAL,
    Change,
    Changes,
    Tuning,
    division,
    spread,
)


def changes_in(values: list[float], tuning: Tuning = TYPICAL) -> list[tuple[int, Change]]:
    """With the number of the value at which each was noticed."""
    changes = Changes(tuning)
    found = ((number, changes.add(value, number)) for number, value in enumerate(values))
    return [(number, change) for number, change in found if change is not None]


def noisy(count: int, level: float, spread: float, seed: int = 0) -> list[float]:
    noise = random.Random(seed)
    return [level * math.exp(noise.gauss(0, spread)) for _ in range(count)]


def test_a_step_up_is_told_with_its_first_value_and_both_levels() -> None:
    (noticed, change), *others = changes_in([10.0] * 40 + [13.0] * 40)
    assert not others
    assert change.where == 40
    assert (change.before, change.after) == (pytest.approx(10.0), pytest.approx(13.0))
    assert change.ratio == pytest.approx(1.3)
    # by hand: of equal numbers the spread is its floor, 0.01. A value counts with three deviations, less the
    # most that is allowed, 1.5, less 2 / sqrt(40) for a level known from 40 values: 1.18. Ten of them are
    # not 12, eleven are.
    assert noticed == 40 + 10


def test_a_step_down_is_a_change_too() -> None:
    ((_, change),) = changes_in([10.0] * 40 + [5.0] * 40)
    assert change.ratio == pytest.approx(0.5)


def test_less_than_the_least_change_is_none() -> None:
    assert not changes_in([10.0] * 40 + [10.0 * (1 + LEAST) * 0.99] * 200)


def test_few_wild_values_are_no_change() -> None:
    values = [10.0] * 40
    for number in range(200):
        values.append(100.0 if number % 9 == 0 else 10.0)
    assert not changes_in(values)


def test_each_level_is_held_against_the_one_before() -> None:
    found = [change for _, change in changes_in([10.0] * 40 + [12.0] * 40 + [15.0] * 40 + [10.0] * 40)]
    assert [round(change.after) for change in found] == [12, 15, 10]
    assert [change.where for change in found] == [40, 80, 120]


def test_a_slow_rise_is_told_each_time_that_it_matters() -> None:
    values = [10.0 * 1.002**number for number in range(400)]  # 2.2 times as much in the end
    found = [change for _, change in changes_in(values)]
    assert len(found) >= 3
    assert all(change.ratio > 1 + LEAST for change in found)


@pytest.mark.parametrize("spread", [0.02, 0.1, 0.3])
@pytest.mark.parametrize(("tuning", "count"), [(TYPICAL, 20_000), (AVERAGE, 5_000)])
def test_noise_of_one_level_is_no_change(spread: float, tuning: Tuning, count: int) -> None:
    assert not changes_in(noisy(count, 10.0, spread), tuning)


@pytest.mark.parametrize(
    "noise",
    [
        pytest.param(lambda draw: draw.gauss(0, 1) / math.sqrt(draw.gammavariate(1.5, 2) / 3), id="heavy"),
        pytest.param(lambda draw: draw.choice((-1.0, 1.0)), id="two values"),
        pytest.param(lambda draw: 5.0 * (draw.random() < 0.1), id="seldom"),
    ],
)
def test_noise_of_other_shapes_is_none_either(noise: Callable[[random.Random], float]) -> None:
    draw = random.Random(1)
    assert not changes_in([10.0 * math.exp(0.05 * noise(draw)) for _ in range(20_000)])


def test_a_change_in_noise_is_found_soon() -> None:
    values = noisy(60, 10.0, 0.05) + noisy(60, 12.5, 0.05, seed=1)
    ((noticed, change),) = changes_in(values)
    assert 55 <= change.where <= 62
    assert noticed < 80
    assert change.ratio == pytest.approx(1.25, rel=0.05)


def test_the_spread_of_neighbours_that_move_together_is_theirs() -> None:
    apart = noisy(60, 1.0, 0.01)
    together = [value * (1.2 if number // 10 % 2 else 1.0) for number, value in enumerate(apart)]
    assert spread([math.log(value) for value in apart]) < 0.02
    assert spread([math.log(value) for value in together]) > 0.1


def test_what_is_kept_does_not_grow() -> None:
    changes = Changes(TYPICAL)
    for value in noisy(5_000, 10.0, 0.05):
        changes.add(value, None)
    assert len(changes._reference) == TYPICAL.reference
    assert median(map(len, changes._runs)) < 200


@pytest.mark.parametrize(("before", "after"), [(10.0, 13.0), (13.0, 10.0)])
def test_a_change_within_the_first_values_is_told(before: float, after: float) -> None:
    ((noticed, change),) = changes_in([before] * 14 + [after] * 40)
    assert change.where == 14
    assert (change.before, change.after) == (pytest.approx(before), pytest.approx(after))
    assert noticed == 19  # the twentieth, the sixth of the new level: before nobody knows what the level is


def test_what_comes_after_a_change_within_the_first_values_is_told_too() -> None:
    found = [change for _, change in changes_in([10.0] * 14 + [13.0] * 60 + [20.0] * 60)]
    assert [change.where for change in found] == [14, 74]


def test_where_values_are_of_two_levels() -> None:
    assert division([1.0] * 8 + [2.0] * 8, side=8) == 8
    assert division([2.0] * 30 + [1.0] * 9, side=8) == 30
    assert division([1.0] * 9 + [2.0] * 7, side=8) is None  # too few of the second
    assert division([1.0] * 9 + [1.0 + 0.99 * math.log1p(LEAST)] * 9, side=8) is None
    # one of ten may be anything; two of ten are too many
    assert division([1.0] * 10 + [2.0] * 9 + [0.5], side=8) == 10
    assert division([1.0] * 10 + [2.0] * 4 + [0.5] * 2 + [2.0] * 4, side=8) is None


def test_noise_is_seldom_of_two_levels() -> None:
    assert sum(division(noisy(40, 1.0, 0.1, seed), side=6) is not None for seed in range(1000)) <= 1
