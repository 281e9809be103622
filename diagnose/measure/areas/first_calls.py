"""First calls and compilation inside the steps that are judged."""

from __future__ import annotations

import numpy as np

from diagnose.measure.first_calls import first_calls
from diagnose.measure.ledger import COMPILATION
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import Intervals, Rows
from diagnose.measure.warm_up import MOST_COLD, cold_steps, warming_up
from diagnose.trace.distinct import distinct


def _time(view: Selection, rows: Rows) -> Intervals:
    """None where most steps have it: that is no warm-up."""
    recurs = view.step_count > 2 and cold_steps(view).mean() > MOST_COLD
    return np.empty((0, 2), np.int64) if recurs else warming_up(view)


@selector(
    "first_calls", "first calls (loading, setting up) and compilation", needs="device", attributed=_time
)
def _first_calls(view: Selection) -> Rows:
    compiles = np.flatnonzero(view.name_matches(COMPILATION) & (view.kind != "python"))
    rows = distinct(first_calls(view)[0], compiles)
    return rows[view.in_steps[rows]]
