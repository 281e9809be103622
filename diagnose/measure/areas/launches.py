"""Launches: how the host feeds the GPU, or itself, with operators."""

from __future__ import annotations

import numpy as np

from diagnose.measure.loops import loop_time
from diagnose.measure.selection import Selection, ledger_row, selector
from diagnose.measure.view import NO_INTERVALS, Intervals, Rows
from diagnose.trace.intervals import intersect


def _loop_time(view: Selection, rows: Rows) -> Intervals:
    """The loops' whole time; with a GPU, the part of it in which the GPU idles for the host."""
    spans = intersect(loop_time(view, view.row_loops), view.span)
    if not view.has_device:
        return spans
    waiting = [view.ledger.rows.get(row, NO_INTERVALS) for row in ("launch_bound", "python")]
    return intersect(spans, np.concatenate(waiting))


@selector("row_loop", "Python loops that repeat a few operators for one row of a tensor after another", stake=_loop_time)
def _row_loop(view: Selection) -> Rows:
    return np.concatenate([np.empty(0, np.int64), *view.row_loops])


@selector(
    "launch_bound",
    "the GPU's short idle times while the host prepares and launches operators",
    needs="device",
    stake=ledger_row("launch_bound"),
)
def launch_bound(view: Selection) -> Rows:
    launches = view.device["launch"].to_numpy()
    return view.named(view.is_among(launches[launches >= 0]))
