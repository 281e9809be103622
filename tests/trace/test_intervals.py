"""Interval algebra: hand-worked values, and agreement with a brute force over single nanoseconds."""

from __future__ import annotations

import numpy as np
import pytest

from diagnose.trace.intervals import as_intervals, clip, intersect, subtract, total, union

A = [[10, 20], [0, 5], [15, 30], [30, 40], [50, 50]]  # covers 0–5 and 10–40
B = [[3, 12], [20, 25], [60, 70]]


def test_union_sorts_merges_and_drops_empty() -> None:
    assert union(A).tolist() == [[0, 5], [10, 40]]


def test_intersect() -> None:
    assert intersect(A, B).tolist() == [[3, 5], [10, 12], [20, 25]]


def test_subtract() -> None:
    assert subtract(A, B).tolist() == [[0, 3], [12, 20], [25, 40]]


def test_clip_cuts_both_ends() -> None:
    assert clip(A, 4, 12).tolist() == [[4, 5], [10, 12]]
    assert clip(A, 12, 4).tolist() == []


def test_total_counts_overlap_once() -> None:
    assert total(A) == 35


def test_as_intervals_adds_duration() -> None:
    assert as_intervals([5, 1], [10, 0]).tolist() == [[5, 15], [1, 1]]


def test_epoch_nanoseconds_stay_exact() -> None:
    start = 1_760_000_000_000_000_001
    assert total(as_intervals([start, start + 1], [3, 3])) == 4


@pytest.mark.parametrize("empty", [[], np.empty((0, 2), dtype=np.int64)])
def test_empty_sets(empty: object) -> None:
    for result in (
        union(empty),
        intersect(empty, A),
        intersect(A, empty),
        subtract(empty, A),
        clip(empty, 0, 9),
    ):
        assert result.shape == (0, 2) and result.dtype == np.int64
    assert subtract(A, empty).tolist() == [[0, 5], [10, 40]]
    assert total(empty) == 0


def _covered(intervals: np.ndarray) -> set[int]:
    return {t for start, end in intervals.tolist() for t in range(start, end)}


def _is_normal(intervals: np.ndarray) -> bool:
    return bool((intervals[:, 1] > intervals[:, 0]).all() and (intervals[1:, 0] > intervals[:-1, 1]).all())


def test_many_intervals_are_cut_by_few() -> None:
    """[0, 1), [2, 3), … [1998, 1999) inside [3, 6) and [1990, 1994), which begins and ends between two."""
    many = as_intervals(np.arange(0, 2000, 2), np.ones(1000, int))
    few = np.array([[1990, 1994], [3, 7]])
    cut = [[4, 5], [6, 7], [1990, 1991], [1992, 1993]]
    assert intersect(many, few).tolist() == intersect(few, many).tolist() == cut


def test_an_interval_is_cut_at_both_ends_of_a_short_one() -> None:
    """A thousand of 10 ns each, 20 ns apart; of the second and the third the inner parts."""
    many = as_intervals(np.arange(0, 20_000, 20), np.full(1000, 10))
    assert intersect(many, np.array([[24, 46]])).tolist() == [[24, 30], [40, 46]]


@pytest.mark.parametrize("seed", range(200))
def test_agrees_with_brute_force(seed: int) -> None:
    rng = np.random.default_rng(seed)
    a, b = (as_intervals(rng.integers(-20, 60, n), rng.integers(0, 12, n)) for n in rng.integers(0, 12, 2))
    results = {
        "union": (union(a), _covered(a)),
        "intersect": (intersect(a, b), _covered(a) & _covered(b)),
        "subtract": (subtract(a, b), _covered(a) - _covered(b)),
        "clip": (clip(a, 0, 30), _covered(a) & set(range(30))),
    }
    for name, (got, want) in results.items():
        assert _is_normal(got), (seed, name)
        assert _covered(got) == want, (seed, name)
        assert total(got) == len(want), (seed, name)
