"""Which range encloses which: one pass over a thread, in arrays.

Rows of one thread sorted by start, longer first, have this property: the innermost range that encloses row
``i`` is the nearest earlier range whose end is not before the end of ``i`` ("previous greater element"). All
ranges look for it at once, jumping over those that already know theirs; then all other rows climb from the
last range before them. An event of no duration counts as one nanosecond long: it lies inside a range that
begins with it, not in one that ends there.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from diagnose.trace.distinct import distinct

Rows = NDArray[np.signedinteger[Any]]  # positions; of millions, 32 bits of each

_MANY = 4  # times as many rows as are asked for: from there on it is quicker to find all at once


def order(start: Rows, dur: Rows) -> Rows:
    """Row numbers sorted by start, longer first, equal ones as they come."""
    by_start = np.argsort(start, kind="stable")
    sorted_start = start[by_start]
    equal = np.flatnonzero(sorted_start[1:] == sorted_start[:-1])
    tied = distinct(equal, equal + 1)
    rows = by_start[tied]
    by_start[tied] = rows[np.lexsort((-dur[rows], start[rows]))]
    return by_start


def innermost(start: Rows, dur: Rows, is_range: NDArray[np.bool_], group: Rows) -> Rows:
    """For each row the innermost earlier row with ``is_range`` of the same
    group that encloses it; -1 if none.

    Rows must be in `order`. ``group`` (the thread) is any integer; ranges never enclose rows of another
    group. Of ranges with equal ends and starts the later row counts as the inner one.
    """
    parent = np.full(len(start), -1, np.int32)
    by_group = np.argsort(group, kind="stable")
    borders = np.flatnonzero(np.diff(group[by_group])) + 1
    for rows in np.split(by_group, borders):
        found = _innermost_of_one(start[rows], dur[rows], is_range[rows])
        parent[rows] = np.where(found >= 0, rows[found], -1)
    return parent


def _innermost_of_one(start: Rows, dur: Rows, is_range: NDArray[np.bool_]) -> Rows:
    end = np.maximum(dur, 1)
    end += start
    ranges = np.flatnonzero(is_range).astype(np.int32)
    around = _previous_reaching(end[ranges])
    found = np.cumsum(is_range, dtype=np.int32)
    found -= 1  # the last range at or before each row, as a position in `ranges`
    found[ranges] = around
    climbing = np.flatnonzero(~is_range & (found >= 0))
    while len(climbing):
        climbing = climbing[end[ranges[found[climbing]]] < end[climbing]]
        found[climbing] = around[found[climbing]]
        climbing = climbing[found[climbing] >= 0]
    return np.where(found >= 0, ranges[found], -1) if len(ranges) else found


def _previous_reaching(end: Rows) -> Rows:
    """For each position the nearest earlier one whose end is not before its own; -1 if none."""
    found = np.arange(-1, len(end) - 1, dtype=np.int32)
    open_rows = np.arange(1, len(end), dtype=np.int32)
    while len(open_rows):
        open_rows = open_rows[end[found[open_rows]] < end[open_rows]]
        found[open_rows] = found[found[open_rows]]
        open_rows = open_rows[found[open_rows] >= 0]
    return found


def inherited(flag: NDArray[np.bool_], parent: Rows) -> NDArray[np.bool_]:
    """Whether a row or any of its ancestors has the flag."""
    flag, ancestor = flag.copy(), parent.astype(np.int64)
    while (ancestor >= 0).any():
        flag |= np.where(ancestor >= 0, flag[ancestor], False)
        ancestor = np.where(ancestor >= 0, ancestor[ancestor], -1)
    return flag


def nearest(wanted: NDArray[np.bool_], parent: Rows, of: Rows) -> Rows:
    """For each row in ``of`` (-1 allowed) the row itself or its nearest
    ancestor that is wanted; -1 if none.
    """
    found = of.astype(np.int64)
    if _MANY * len(found) >= len(parent):
        return _nearest_of_all(wanted, parent)[found]
    climbing = np.flatnonzero(found >= 0)
    while len(climbing):
        climbing = climbing[~wanted[found[climbing]]]
        found[climbing] = parent[found[climbing]]
        climbing = climbing[found[climbing] >= 0]
    return found


def _nearest_of_all(wanted: NDArray[np.bool_], parent: Rows) -> Rows:
    """The same for every row, and -1 at the end: each pass goes twice as far up as the one before."""
    nowhere = len(parent)
    up = np.full(nowhere + 1, nowhere, np.int32)
    np.copyto(up[:-1], parent, casting="unsafe", where=parent >= 0)
    up[:-1][wanted] = np.flatnonzero(wanted)
    while not np.array_equal(further := up[up], up):
        up = further
    up[up == nowhere] = -1
    return up
