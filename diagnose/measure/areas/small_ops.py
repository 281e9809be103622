"""Small operators: their dispatch takes longer than their work."""

from __future__ import annotations

import numpy as np

from diagnose.measure.areas.launches import cell_runs, cell_time, plain_row_loops, rnn_cell_loop
from diagnose.measure.areas.layer_loops import layer_loops, loops_both_ways
from diagnose.measure.areas.parameter_loops import parameter_loops
from diagnose.measure.loops import loop_time
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import NO_INTERVALS, NO_ROWS, Intervals, Rows
from diagnose.measure.work import in_rows, outermost
from diagnose.trace.intervals import as_intervals, intersect, subtract, union

# an operator whose own part is shorter is mostly dispatch: that takes 2 to 20
# µs on the host, more under a profiler
SMALL_NS = 20_000
# Python between two operators up to this belongs to dispatching them; longer is work of its own
BETWEEN_NS = 50_000


def _large_ops(view: Selection) -> np.ndarray:
    """Which operators take SMALL_NS or longer themselves, what they call not counted."""
    dur, parent = view.host["dur_ns"].to_numpy(), view.host["parent"].to_numpy()
    ops = np.flatnonzero((view.kind == "op") & (parent >= 0))
    called = np.bincount(parent[ops], weights=dur[ops], minlength=len(dur))
    return np.asarray((view.kind == "op") & (dur - called >= SMALL_NS))


def dispatch_time(view: Selection) -> Intervals:
    """While the training thread does nothing but run small operators, and
    the Python between one and the next.
    """
    own = np.flatnonzero((view.kind == "op") & view.on_training_thread & view.in_steps)
    start, dur = view.host["start_ns"].to_numpy(), view.host["dur_ns"].to_numpy()
    near = union(as_intervals(start[own], dur[own] + BETWEEN_NS))
    large = own[_large_ops(view)[own]]
    return subtract(intersect(near, view.host_span), union(as_intervals(start[large], dur[large])))


def _small_op_time(view: Selection, rows: Rows) -> Intervals:
    """The dispatch in forward, backward and beside them, less the loops that have rules of their own."""
    loops = np.concatenate(
        [
            loop_time(view, plain_row_loops(view)),
            cell_time(view, rnn_cell_loop(view)),
            loops_both_ways(view, layer_loops(view)),
            loop_time(view, parameter_loops(view)),
        ]
    )
    return (
        subtract(in_rows(view, dispatch_time(view), "forward", "backward", "operators"), loops)
        if len(rows)
        else NO_INTERVALS
    )


@selector(
    "small_ops",
    "runs of tiny operators that mostly dispatch, with the Python between them",
    attributed=_small_op_time,
)
def _small_ops(view: Selection) -> Rows:
    own = (
        (view.kind == "op")
        & view.on_training_thread
        & ~view.host["backward"].to_numpy()
        & ~view.in_library_work
    )
    outer = outermost(view, own)
    large = np.flatnonzero(own & _large_ops(view))
    in_loops = np.concatenate(
        [NO_ROWS, *plain_row_loops(view), *cell_runs(view), *layer_loops(view), *parameter_loops(view)]
    )
    return np.setdiff1d(outer, np.concatenate([view.outermost_ops(large), in_loops]))
