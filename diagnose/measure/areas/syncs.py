"""Syncs: where the host waits for the GPU, or reads what it could leave there."""

from __future__ import annotations

import numpy as np

from diagnose.measure.areas.transfers import blocking_htod
from diagnose.measure.ledger import READ_MARKS
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import Rows


@selector("host_reads", "reads of tensor values by the host (`.item()`, `print`, truth values, `.tolist()` …)")
def _host_reads(view: Selection) -> Rows:
    reads = view.named((view.kind == "mark") & view.name.isin(READ_MARKS))
    return reads[~view.in_library_work[reads]]  # Adam reads its own step counters, samplers their seeds


@selector(
    "host_sync",
    "runtime calls in which the host waits until the GPU has finished, other than those of copies to the GPU",
    needs="device",
    stake=lambda view, rows: view.sync_idle(rows),
)
def _host_sync(view: Selection) -> Rows:
    return np.setdiff1d(view.sync_calls, blocking_htod(view))
