"""Who spends a part of a step's time, and the pieces of time that add up to it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from diagnose.measure.blocks import blocks
from diagnose.measure.names import Name
from diagnose.measure.view import NO_ROWS, Intervals, Rows
from diagnose.trace.distinct import distinct
from diagnose.trace.intervals import covered_before

MOSTLY = 0.5  # of a spender's time, for what is inside it to be named
UNNAMED = -1


@dataclass(frozen=True)
class Spender:
    """Who spends ``ns`` of a row, in all complete steps, with ``count`` events (nan: not known).
    ``mostly``: the operator, function or kernel inside that takes most of it; may be empty.

    ``host`` (ns, by thread), ``calls`` (host rows) and ``device`` (rows): all that it does, in any row; none
    where that is known of the detail phase alone. Of the time on the host only ``host_share`` is its own.
    """

    name: Name
    mostly: str
    ns: int
    count: float
    host: dict[int, Intervals] = field(default_factory=dict)
    calls: Rows = field(default_factory=lambda: NO_ROWS)
    device: Rows = field(default_factory=lambda: NO_ROWS)
    host_share: float = 1.0


class Pieces(NamedTuple):
    """Of the times of a row, a value each: ``key`` of who spends it, what is ``inside``, ``ns``."""

    key: Rows
    inside: Rows
    ns: np.ndarray

    def at(self, chosen: np.ndarray) -> Pieces:
        return Pieces(*(column[chosen] for column in self))


def sums(of: Rows, ns: np.ndarray) -> dict[int, int]:
    """By number, lowest first, without what has none."""
    numbers = distinct(of)
    summed = np.zeros(len(numbers), np.int64)
    for some in blocks(len(of)):
        np.add.at(summed, np.searchsorted(numbers, of[some]), ns[some])
    found = dict(zip(numbers.tolist(), summed.tolist(), strict=True))
    found.pop(UNNAMED, None)
    return found


def most_inside(pieces: Pieces, whole_ns: int) -> int | None:
    """What more than `MOSTLY` of the time is spent inside; None if there is nothing of the kind."""
    by_part = sums(pieces.inside, pieces.ns)
    most = max(by_part, key=by_part.__getitem__, default=None)
    return most if most is not None and by_part[most] >= MOSTLY * whole_ns else None


def numbers_at(rows: Rows, numbers: Rows) -> Rows:
    """The number of each row; `UNNAMED` for -1 and for a row behind the last."""
    numbered = np.append(numbers, numbers.dtype.type(UNNAMED))  # of millions, as narrow as they were
    return np.asarray(numbered[rows])


def ns_inside(intervals: Intervals, pieces: Intervals) -> np.ndarray:
    """How much of each piece lies inside the intervals, ns."""
    found = np.zeros(len(pieces), np.int64)
    for some in blocks(len(pieces)):
        begin, end = pieces[some].T
        found[some] = covered_before(intervals, np.maximum(begin, end)) - covered_before(intervals, begin)
    return found
