"""Enclosing ranges: hand-worked cases and agreement with a search over all pairs."""

from __future__ import annotations

import numpy as np
import pytest

from diagnose.trace.nesting import inherited, innermost, nearest, order


def _brute_force(start: np.ndarray, dur: np.ndarray, is_range: np.ndarray, group: np.ndarray) -> list[int]:
    end = start + np.maximum(dur, 1)
    found = []
    for i in range(len(start)):
        around = [j for j in range(i) if is_range[j] and group[j] == group[i] and end[j] >= end[i]]
        found.append(max(around, default=-1))
    return found


@pytest.mark.parametrize("seed", range(150))
def test_agrees_with_all_pairs(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(0, 40))
    start, dur = rng.integers(0, 50, n), rng.integers(0, 25, n)
    by_start = order(start, dur)
    start, dur = start[by_start], dur[by_start]
    is_range, group = rng.random(n) < 0.6, rng.integers(0, 3, n)
    assert innermost(start, dur, is_range, group).tolist() == _brute_force(start, dur, is_range, group)


def test_deep_nesting_and_long_rows_of_siblings() -> None:
    depth, siblings = 500, 2000
    start = np.concatenate((np.arange(depth), depth + 10 * np.arange(siblings)))
    dur = np.concatenate((10**6 - 2 * np.arange(depth), np.full(siblings, 5)))
    parent = innermost(start, dur, np.ones(len(start), dtype=bool), np.zeros(len(start), dtype=np.int64))
    assert parent[:depth].tolist() == [-1, *range(depth - 1)]
    assert set(parent[depth:].tolist()) == {depth - 1}


def test_inherited_reaches_every_descendant() -> None:
    parent = np.array([-1, 0, 1, 2, -1, 4])
    assert inherited(np.array([False, True, False, False, False, False]), parent).tolist() == [
        False,
        True,
        True,
        True,
        False,
        False,
    ]


def test_nearest_climbs_to_the_wanted_ancestor() -> None:
    parent = np.array([-1, 0, 1, -1])
    assert nearest(np.array([True, False, False, False]), parent, np.array([2, 0, 3, -1])).tolist() == [
        0,
        0,
        -1,
        -1,
    ]
