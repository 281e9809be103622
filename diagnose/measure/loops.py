"""Python loops over the rows of a tensor, found by their rhythm: take a row, run
the same few operators, take the next.
"""

from __future__ import annotations

import numpy as np

from diagnose.measure.view import NO_INTERVALS, Intervals, Rows, View
from diagnose.trace.intervals import union

ROW_OP = r"^aten::select$"
ROWS_AT_ONCE_OP = r"^aten::unbind$"  # what `for row in tensor` starts with
# as torch's own ForLoopIndexingPattern (torch/profiler/_pattern_matcher.py); fewer is a handful of tensors
MIN_REPEATS = 10
MAX_OPS_PER_ROW = 64  # a longer body is no row-by-row loop but a model called per sample


def row_loops(view: View, ops: Rows) -> list[Rows]:
    """Each loop's outermost operators among ``ops`` (rows of one thread, in order)."""
    outer = ops[~_inside_op(view)[ops]]
    codes = view.host["name"].cat.codes.to_numpy()[outer]
    takes_row, takes_rows = view.name_matches(ROW_OP)[outer], view.name_matches(ROWS_AT_ONCE_OP)[outer]
    loops, taken = [], np.zeros(len(outer), bool)
    for period in range(1, min(MAX_OPS_PER_ROW, len(outer) // MIN_REPEATS) + 1):
        for first, last in periodic_runs(codes, period, MIN_REPEATS):
            fresh = not taken[first:last].any()
            by_row = (
                takes_row[first : first + period].any() or takes_rows[max(0, first - 2) : first + 1].any()
            )
            if fresh and by_row:
                taken[first:last] = True
                loops.append(outer[first:last])
    return loops


def loop_time(view: View, loops: list[Rows]) -> Intervals:
    """From each loop's first operator to the end of its last, ns: the Python
    between the rows is part of the loop.
    """
    start = view.host["start_ns"].to_numpy()
    end = start + view.host["dur_ns"].to_numpy()
    return (
        union(np.array([(start[loop[0]], end[loop[-1]]) for loop in loops], np.int64))
        if loops
        else NO_INTERVALS
    )


def _inside_op(view: View) -> np.ndarray:
    is_op = np.append(view.kind == "op", False)  # row -1: no parent
    return is_op[view.host["parent"].to_numpy()]


def periodic_runs(codes: np.ndarray, period: int, repeats: int) -> list[tuple[int, int]]:
    """Maximal [first, last) in which the names repeat with this period at least so often."""
    same = np.concatenate(([False], codes[period:] == codes[:-period], [False])).astype(np.int8)
    edges = np.diff(same)
    begins, ends = np.flatnonzero(edges == 1), np.flatnonzero(edges == -1)
    long = ends - begins + period >= repeats * period
    return list(zip(begins[long].tolist(), (ends[long] + period).tolist(), strict=True))
