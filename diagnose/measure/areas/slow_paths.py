"""Operators that a CPU computes the long way, each with what the same takes otherwise, ns."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np

from diagnose.measure.measured import Measured, Value
from diagnose.measure.missing import NO_STEPS, Missing
from diagnose.measure.selection import Selection
from diagnose.measure.view import NO_ROWS, Rows

SlowPaths = Callable[[Selection], list[tuple[int, float]]]


def rows_of(view: Selection, slow: SlowPaths) -> Rows:
    found = [row for row, _ in slow(view)]
    return np.array(found, np.int64) if found else NO_ROWS


def left_of(measured: Measured, slow: SlowPaths) -> Value | Missing:
    """Share of their time that is left otherwise."""
    view = measured.timeline
    if view is None:
        return NO_STEPS
    took_ns, found = view.host["dur_ns"].to_numpy(), slow(view)
    whole_ns = sum(int(took_ns[row]) for row, _ in found)
    return sum(left_ns for _, left_ns in found) / whole_ns if whole_ns else Missing("none is so slow")
