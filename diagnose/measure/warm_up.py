"""Steps that hold first calls or compilation, where a recording has others to judge."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from diagnose.measure.first_calls import first_calls
from diagnose.measure.ledger import BEGIN_CAPTURE, COMPILATION, MAKES_GRAPH, step_ledger
from diagnose.measure.view import NO_INTERVALS, Intervals, View, once
from diagnose.trace.intervals import intersect, total, union
from diagnose.trace.schema import Trace

COLD_SHARE = 0.1  # of a step, from which it is a warm-up step: less hardly moves its numbers
FEWEST_WARM = 2  # steps, to be judged in place of all
MOST_COLD = 0.5  # of the steps: what more of them hold happens again and again
WARM_UP_ROWS = ("first_calls", "compilation")  # of the ledger


def without_warm_up(trace: Trace) -> Trace:
    """The trace in which steps with first calls are not complete, and a note that says so.

    It is the same trace where too few other steps are left.
    """
    view = View(trace)
    compiles = view.name_matches(f"{COMPILATION}|{BEGIN_CAPTURE}|{MAKES_GRAPH}").any()
    if view.step_count <= FEWEST_WARM or not (compiles or len(first_calls(view)[0])):
        return trace
    cold = cold_steps(view)
    if not cold.any() or (~cold).sum() < FEWEST_WARM:
        return trace
    complete = trace.steps["complete"].to_numpy().copy()
    complete[np.flatnonzero(complete)[cold]] = False
    told = (
        f"Left out: {cold.sum():,} of {len(cold):,} steps, which load, compile or set something up for the "
        f"first time ({total(warming_up(view)) / 1e6:,.3g} ms in all). The other steps are judged."
    )
    return replace(trace, steps=trace.steps.assign(complete=complete), notes=(*trace.notes, told))


@once
def cold_steps(view: View) -> np.ndarray:
    """Which of the view's steps spend a tenth or more with first calls and compilation."""
    lost = np.array([total(intersect(warming_up(view), window[None])) for window in view.windows])
    return np.asarray(lost >= COLD_SHARE * np.diff(view.windows).reshape(-1))


@once
def warming_up(view: View) -> Intervals:
    """The time of the view's steps that goes to first calls and compilation, on the ledger's lane."""
    ledger = step_ledger(view)
    return union(
        np.concatenate([NO_INTERVALS, *(ledger.rows[row] for row in WARM_UP_ROWS if row in ledger.rows)])
    )
