"""A thread's time by the innermost event: what each event does itself, outside those that it encloses."""

from __future__ import annotations

import numpy as np

from diagnose.measure.view import Intervals, Rows


def own_pieces(start_ns: np.ndarray, end_ns: np.ndarray, rows: Rows, caller: Rows) -> tuple[Rows, Intervals]:
    """The times (ns) of these events outside those of them that they enclose, and whose each is.

    ``caller``: for each of ``rows`` the innermost of them around it, -1 for none; all sorted by start. Pieces
    come in no order; none is empty.
    """
    order = np.argsort(caller, kind="stable")  # sorted by start, so that calls follow each other
    order = order[np.searchsorted(caller, 0, sorter=order) :]
    called, callers = rows[order], caller[order]
    del order, caller  # of millions of events each array counts
    since = start_ns[callers]
    again = np.flatnonzero(callers[1:] == callers[:-1])
    since[again + 1] = end_ns[called[again]]
    before = np.flatnonzero(start_ns[called] > since)
    del again
    last_end = start_ns.copy()
    last_end[callers] = end_ns[called]  # of several calls the last one stays
    after = rows[end_ns[rows] > last_end[rows]]
    own = np.empty((len(before) + len(after), 2), np.int64)
    own[: len(before), 0], own[: len(before), 1] = since[before], start_ns[called[before]]
    own[len(before) :, 0], own[len(before) :, 1] = last_end[after], end_ns[after]
    return np.concatenate([callers[before], after]), own
