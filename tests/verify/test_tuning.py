"""The search for a number, on curves that are known."""

import pytest

from diagnose.verify.tuning import neighbours, search


def searched(curve: dict[int, float], start: int, largest: int, noise: float = 0.0):
    return search("num_workers", start, largest, lambda number: curve[number], noise)


def test_it_follows_the_curve_down_and_takes_the_knee() -> None:
    curve = {1: 80.0, 2: 40.0, 4: 20.0, 8: 10.1, 16: 10.0}
    found = searched(curve, start=2, largest=16)
    assert found is not None
    assert found.ms == curve  # 2, then 1 and 4; 4 is best, so 8; 8 is best, so 16
    assert (found.best, found.knee) == (16, 8)  # 8 is within 2 % of 16


def test_it_stops_between_two_worse_ones() -> None:
    found = searched({1: 30.0, 2: 20.0, 4: 25.0}, start=2, largest=8)
    assert found is not None and (found.best, found.knee) == (2, 2)


def test_noise_widens_what_is_as_good() -> None:
    found = searched({1: 21.0, 2: 20.0}, start=2, largest=2, noise=0.1)
    assert found is not None and (found.best, found.knee) == (2, 1)


def test_when_time_is_up_what_is_known_counts() -> None:
    left = [30.0, 20.0]
    found = search("num_workers", 4, 8, lambda number: left.pop(0) if left else None, 0.0)
    assert found is not None and found.ms == {2: 20.0, 4: 30.0} and found.knee == 2
    assert search("num_workers", 4, 8, lambda number: None, 0.0) is None


@pytest.mark.parametrize(
    ("number", "largest", "near"), [(1, 1, []), (1, 4, [2]), (2, 2, [1]), (4, 6, [2, 6]), (8, 4, [4])]
)
def test_neighbours_stay_within_bounds(number: int, largest: int, near: list[int]) -> None:
    assert neighbours(number, largest) == near
