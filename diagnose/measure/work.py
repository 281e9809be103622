"""The work of operators: what runs inside them, on the host and on the GPU."""

from __future__ import annotations

import numpy as np

from diagnose.measure.ledger import BUSY_ROWS
from diagnose.measure.selection import Selection
from diagnose.measure.view import NO_INTERVALS, Intervals, Rows
from diagnose.trace.intervals import intersect, union
from diagnose.trace.nesting import nearest


def inside(view: Selection, rows: Rows, flagged: np.ndarray) -> np.ndarray:
    """Which of these host events (-1: none) are flagged, or lie inside an
    operator, annotation or mark that is.
    """
    return nearest(np.asarray(flagged), view.host["parent"].to_numpy(), rows) >= 0


def outermost(view: Selection, flagged: np.ndarray) -> Rows:
    """The flagged host events of complete steps that lie inside no other flagged one."""
    rows = view.named(flagged)
    return rows[~inside(view, view.host["parent"].to_numpy()[rows], flagged)]


def device_rows(view: Selection, flagged: np.ndarray) -> Rows:
    """Device events of complete steps that were enqueued from inside flagged host events."""
    rows = np.flatnonzero(view.device_in_steps)
    op, launch = (view.device[column].to_numpy()[rows] for column in ("op", "launch"))
    return rows[inside(view, np.where(op >= 0, op, launch), flagged)]


def work_time(view: Selection, rows: Rows) -> Intervals:
    """While the work of these operators runs: their kernels where there is a
    GPU, else the operators themselves.
    """
    if not view.has_device:
        return view.host_intervals(rows)
    return in_rows(view, view.device_intervals(device_rows(view, view.is_among(rows))), *BUSY_ROWS)


def in_rows(view: Selection, intervals: Intervals, *rows: str) -> Intervals:
    """The part of the intervals that the ledger files under these rows."""
    filed = [view.ledger.rows.get(row, NO_INTERVALS) for row in rows]
    return intersect(intervals, union(np.concatenate(filed)))
