"""After how many steps long and short ones repeat."""

from __future__ import annotations

from time import perf_counter

import numpy as np
import pytest

from diagnose.measure.periods import AS_USUAL, FEWEST_PERIODS, _period, period_of


def by_places(is_long: np.ndarray) -> int:
    """The same, place by place."""
    if not FEWEST_PERIODS <= is_long.sum() < len(is_long):
        return 1
    for period in range(2, len(is_long) // FEWEST_PERIODS + 1):
        places = [is_long[place::period] for place in range(period)]
        usual = [2 * int(place.sum()) > len(place) for place in places]
        as_usual = sum(int((place == long).sum()) for place, long in zip(places, usual, strict=True))
        if any(usual) and not all(usual) and as_usual >= AS_USUAL * len(is_long):
            return period
    return 1


@pytest.mark.parametrize("period", [1, 2, 3, 7])
@pytest.mark.parametrize("count", [8, 23, 60, 141])
def test_periods_are_those_that_are_found_place_by_place(period: int, count: int) -> None:
    random = np.random.default_rng(period * 1000 + count)
    for odd_share in (0.0, 0.02, 0.05, 0.3):
        is_long = (np.arange(count) % period == period - 1) ^ (random.random(count) < odd_share)
        assert _period(is_long) == by_places(is_long)


def test_thousands_of_steps_take_no_longer_than_as_many_medians() -> None:
    """Scripts with steps of 0.1 ms have thousands of them, and these of no period: all periods are tried."""
    lengths = np.random.default_rng(0).choice([1.0, 2.0], 5000)

    def took_s(work: object) -> float:
        begin = perf_counter()
        assert callable(work)
        work()
        return perf_counter() - begin

    medians_s = took_s(lambda: [np.median(lengths[:100]) for _ in range(5000)])
    assert took_s(lambda: period_of(lengths)) < 5 * medians_s
    assert period_of(lengths) == 1
