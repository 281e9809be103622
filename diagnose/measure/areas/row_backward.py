"""Rows that a loop takes from a tensor one by one: the backward of each fills a tensor as large as the whole
with zeros, and adds it to the others'.
"""

from __future__ import annotations

import numpy as np

from diagnose.measure.areas.recurrent import MODULE_OP
from diagnose.measure.autograd import forward_of
from diagnose.measure.lines import backward_of_lines
from diagnose.measure.measured import FactPlace, Measured, fact_selector
from diagnose.measure.missing import NO_STEPS, Missing
from diagnose.measure.selection import Selection
from diagnose.measure.traced_lines import Line
from diagnose.measure.view import Rows, started_in

SINGLE_ROWS = r"^autograd::engine::evaluate_function: (?:Select|Slice|Narrow)Backward\d"
ROWS_AT_LEAST = 16  # a step, of a line
ON_GPU = Missing("on a GPU many small kernels cost more than what they fill")


@fact_selector("row_backwards", "the backward of rows that are taken one by one from a tensor")
def _row_backwards(measured: Measured) -> list[FactPlace] | Missing:
    """By the line that takes them, as the detail phase has it; without a line where none are recorded."""
    view = measured.timeline
    if view is None:
        return NO_STEPS
    if view.has_device:
        return ON_GPU
    rows = _rows(view)
    if len(rows) < ROWS_AT_LEAST * view.step_count:
        return []
    ms, by_line = measured.timeline_ms(view.host_intervals(rows)), _by_line(measured.detail)
    whole = sum(by_line.values())
    return [
        FactPlace(*line, "", len(rows) / view.step_count * ns / whole, ms * ns / whole)
        for line, ns in by_line.items()
    ] or [FactPlace("", -1, "", len(rows) / view.step_count, ms)]


def _rows(view: Selection) -> Rows:
    """Without what a recurrent layer takes of packed sequences itself: that is tried with padded ones."""
    rows = np.flatnonzero(view.name_matches(SINGLE_ROWS) & view.in_steps)
    recurrent = view.host_intervals(np.flatnonzero(view.name_matches(MODULE_OP)))
    takers = forward_of(view)[rows]
    return rows[~((takers >= 0) & started_in(view.host, recurrent)[takers])]


def _by_line(view: Selection | None) -> dict[Line, int]:
    """ns; of lines that take several rows."""
    if view is None:
        return {}
    rows, dur = _rows(view), view.host["dur_ns"].to_numpy()
    found = {line: np.intersect1d(those, rows) for line, those in backward_of_lines(view).items()}
    return {line: int(dur[those].sum()) for line, those in found.items() if len(those) > view.step_count}
