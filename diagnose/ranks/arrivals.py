"""Arithmetic on tables of arrivals: a row a rank, a column a collective, nan where a rank takes no part."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np


def covered(begin: np.ndarray, end: np.ndarray) -> np.ndarray:
    """What each interval covers that none of its row which began before did.

    Intervals that end before they begin, or have no beginning or end (nan), are empty. Collectives may be
    under way together (two streams, gloo's threads): what is waited for both counts once.
    """
    begin, end = np.broadcast_arrays(begin, end)
    there = np.isfinite(begin) & np.isfinite(end)
    begin = np.where(there, begin, 0.0)
    end = np.where(there, np.maximum(begin, end), 0.0)
    order = begin.argsort(axis=1, kind="stable")
    reached = np.maximum.accumulate(np.take_along_axis(end, order, axis=1), axis=1)
    reached = np.concatenate([np.full((len(begin), 1), -np.inf), reached[:, :-1]], axis=1)
    lengths = np.empty_like(begin)
    new = np.take_along_axis(end, order, axis=1) - np.maximum(
        np.take_along_axis(begin, order, axis=1), reached
    )
    np.put_along_axis(lengths, order, np.maximum(new, 0), axis=1)
    return lengths


def left_before(end_ns: np.ndarray, begin_ns: np.ndarray) -> np.ndarray:
    """When each rank has left all collectives before each one; ``begin_ns``: those before the first."""
    ends = np.concatenate([begin_ns[:, None], np.where(np.isfinite(end_ns), end_ns, -np.inf)], axis=1)
    return np.maximum.accumulate(ends, axis=1)[:, :-1]


def median_of_others(values: np.ndarray) -> np.ndarray:
    """For each row of a table the median of the other rows, column by column; the
    values themselves if there is one row.

    A column without nan in at least two rows has others to take the median of; rows with nan there get nan.
    """
    if len(values) < 2:
        return values
    counts = np.isfinite(values).sum(axis=0, keepdims=True)
    ordered = np.sort(values, axis=0)  # nan comes last
    place = values.argsort(axis=0).argsort(axis=0)
    # the middle of the counts - 1 others
    low, high = (np.maximum(counts - 2, 0) // 2, np.maximum(counts - 1, 0) // 2)
    return np.where(
        np.isfinite(values), (_without(ordered, place, low) + _without(ordered, place, high)) / 2, np.nan
    )


def _without(ordered: np.ndarray, place: np.ndarray, number: np.ndarray) -> np.ndarray:
    """The value with that number, column by column, among the others: the row's own place is skipped."""
    at, behind = (
        np.take_along_axis(ordered, np.minimum(which, len(ordered) - 1), axis=0)
        for which in (number, number + 1)
    )
    return np.where(place <= number, behind, at)


def of_same_ranks(arrival_ns: np.ndarray) -> list[np.ndarray]:
    """The collectives by the ranks that take part in them: a process group has its columns each."""
    there = np.isfinite(arrival_ns)
    if there.all():
        return [np.arange(there.shape[1])]
    _, which = np.unique(np.packbits(there, axis=0), axis=1, return_inverse=True)
    return [np.flatnonzero(which == number) for number in range(which.max() + 1)]


def inherited_ns(waiting_ns: np.ndarray, groups: Sequence[np.ndarray]) -> np.ndarray:
    """What each rank waited in other groups' collectives since the last one of the same group: that is
    how late it comes by others' doing.

    ``waiting_ns``: for the last rank, columns in their order of time;
    ``groups``: the columns of each process group.
    """
    waited = np.nan_to_num(waiting_ns).cumsum(axis=1)
    inherited = np.zeros_like(waited)
    for columns in groups:
        until, before = waited[:, columns], np.nan_to_num(waiting_ns[:, columns])
        inherited[:, columns] = (
            until - before - np.concatenate([np.zeros((len(until), 1)), until[:, :-1]], axis=1)
        )
    return inherited
