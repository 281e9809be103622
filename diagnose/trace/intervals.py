"""Interval algebra on integer nanoseconds.

An interval set is an int64 array of shape (n, 2): half-open ``[start, end)``, in any order, overlaps and
empty intervals allowed. Every function that returns a set returns it sorted, disjoint, without empty
intervals and with touching neighbours merged, so results compare equal when they cover the same time.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import ArrayLike, NDArray

Intervals = NDArray[np.int64]

_MANY = 200  # times as many intervals as the other set has: then it is cut by slices, which takes less memory
_NOTHING = np.empty((0, 2), np.int64)


def as_intervals(start: ArrayLike, dur: ArrayLike) -> Intervals:
    """Intervals of the given starts and durations (ns), shape (n, 2), in the order given."""
    begin = np.asarray(start, dtype=np.int64).reshape(-1)
    return np.stack([begin, begin + np.asarray(dur, dtype=np.int64).reshape(-1)], axis=1)


def union(a: ArrayLike) -> Intervals:
    """The time covered by at least one interval of ``a``."""
    intervals = _as_pairs(a)
    if (intervals[:, 1] <= intervals[:, 0]).any():
        intervals = intervals[intervals[:, 1] > intervals[:, 0]]
    if (intervals[1:, 0] < intervals[:-1, 0]).any():
        intervals = intervals[np.argsort(intervals[:, 0], kind="stable")]
    if (intervals[1:, 0] > intervals[:-1, 1]).all():  # it is one already
        return intervals
    touching = (intervals[1:, 0] >= intervals[:-1, 1]).all()
    reach = intervals[:, 1] if touching else np.maximum.accumulate(intervals[:, 1])
    opens = np.concatenate(([True], intervals[1:, 0] > reach[:-1]))
    closes = np.concatenate((opens[1:], [True]))
    return np.stack([intervals[opens, 0], reach[closes]], axis=1)


def intersect(a: ArrayLike, b: ArrayLike) -> Intervals:
    """The time covered by both ``a`` and ``b``."""
    left, right = sorted((union(a), union(b)), key=len, reverse=True)
    if not len(right):
        return _NOTHING
    # Both are sorted and disjoint, so the intervals of one that overlap one of the other are consecutive.
    if len(right) * _MANY < len(left):
        begin = np.searchsorted(left[:, 1], right[:, 0], side="right")
        behind = np.searchsorted(left[:, 0], right[:, 1], side="left")
        parts = zip(begin.tolist(), behind.tolist(), right.tolist(), strict=True)
        return np.concatenate([_NOTHING, *(np.clip(left[i:j], *within) for i, j, within in parts)])
    first = np.searchsorted(right[:, 1], left[:, 0], side="right")
    last = np.searchsorted(right[:, 0], left[:, 1], side="left")
    count = np.maximum(last - first, 0)
    mine = np.repeat(np.arange(len(left)), count)
    offset = np.arange(len(mine)) - np.repeat(np.cumsum(count) - count, count)
    other = np.repeat(first, count) + offset
    return np.stack(
        [np.maximum(left[mine, 0], right[other, 0]), np.minimum(left[mine, 1], right[other, 1])], axis=1
    )


def subtract(a: ArrayLike, b: ArrayLike) -> Intervals:
    """The time covered by ``a`` and not by ``b``."""
    keep, cut = union(a), union(b)
    if len(keep) == 0 or len(cut) == 0:
        return keep
    low, high = min(keep[0, 0], cut[0, 0]), max(keep[-1, 1], cut[-1, 1])
    gaps = np.stack([np.concatenate(([low], cut[:, 1])), np.concatenate((cut[:, 0], [high]))], axis=1)
    return intersect(keep, gaps)


def clip(a: ArrayLike, lo: int, hi: int) -> Intervals:
    """The part of ``a`` inside ``[lo, hi)``."""
    return union(np.clip(_as_pairs(a), lo, max(lo, hi)))


def total(a: ArrayLike) -> int:
    """Nanoseconds covered by ``a``, each counted once."""
    covered = union(a)
    return int((covered[:, 1] - covered[:, 0]).sum())


def covered_before(a: ArrayLike, times: ArrayLike) -> NDArray[np.int64]:
    """How much of ``a`` (ns) lies before each of the times (ns)."""
    covered, moments = union(a), np.asarray(times, dtype=np.int64)
    if not len(covered):
        return np.zeros(len(moments), np.int64)
    whole = np.concatenate(([0], np.cumsum(covered[:, 1] - covered[:, 0])))
    begun = np.searchsorted(covered[:, 0], moments, side="right")
    unfinished = np.maximum(covered[np.maximum(begun - 1, 0), 1] - moments, 0)
    return np.asarray(whole[begun] - np.where(begun > 0, unfinished, 0))


def _as_pairs(a: ArrayLike) -> Intervals:
    return np.asarray(a, dtype=np.int64).reshape(-1, 2)
