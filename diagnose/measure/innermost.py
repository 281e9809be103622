"""A thread's time by the innermost event: what each event does itself, outside those that it encloses."""

from __future__ import annotations

import numpy as np

from diagnose.measure.view import Intervals, Rows


def own_pieces(start_ns: np.ndarray, end_ns: np.ndarray, rows: Rows, caller: Rows) -> tuple[Rows, Intervals]:
    """The times (ns) of these events outside those of them that they enclose, and whose each is.

    ``caller``: for each of ``rows`` the innermost of them around it, -1 for none; all sorted by start. Pieces
    come in no order, and may be empty.
    """
    order = np.argsort(caller, kind="stable")  # sorted by start, so that calls follow each other
    order = order[caller[order] >= 0]
    called, callers = rows[order], caller[order]
    first = np.append(True, callers[1:] != callers[:-1])[: len(callers)]
    since = np.where(first, start_ns[callers], np.append(0, end_ns[called])[: len(called)])
    before = np.stack([since, start_ns[called]], axis=1)
    last_end = start_ns.copy()
    last_end[callers] = end_ns[called]  # of several calls the last one stays
    after = np.stack([last_end[rows], end_ns[rows]], axis=1)
    return np.concatenate([callers, rows]), np.concatenate([before, after])
