"""Work that a GPU did not run although it was launched and the GPU was idle.

An idle GPU starts a kernel some microseconds after the call that launches it has returned. A start much later
was held up by something that the recording does not show: another process that has the GPU in turns, the
driver, a wait for an event. The time *inside* a launch call is something else: loading, a full queue.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import pandas as pd

from diagnose.measure.first_calls import LAUNCH_CALL
from diagnose.measure.view import NO_ROWS, Intervals, Rows, View, once
from diagnose.trace.intervals import as_intervals, union

GRAPH_LAUNCH = r"^(cu|cuda|hip)\w*GraphLaunch"
# The usual latency of a recording: what one start in twenty of an idle GPU stays below. Of recordings by
# others 1-5 µs with CUDA, 5-24 µs with ROCm. More is no property of the GPU: then even fast starts are late.
FASTEST_PERCENT, MOST_LATENCY_NS = 5, 30_000
# From here on beyond the usual latency a start is late. Of 124,000 starts of an idle GPU in 108 of those
# recordings 99.8 % are less than 15 µs beyond it; half of the others are more than 50.
LATE_NS = 50_000


class LateStarts(NamedTuple):
    """The device rows that started late, and since when (ns) their device could have run them.

    ``in_doubt``: which of them may have waited for work that was not recorded: the first of a stream, for
    what was launched before the recording; those after a launch of which no event was recorded.
    """

    rows: Rows
    since_ns: np.ndarray
    start_ns: np.ndarray
    in_doubt: np.ndarray

    def waits(self, chosen: np.ndarray) -> Intervals:
        """The idle time before the chosen starts."""
        since_ns = self.since_ns[chosen]
        return union(as_intervals(since_ns, self.start_ns[chosen] - since_ns))


@once
def late_starts(view: View) -> LateStarts:
    """Of all devices. Events of graphs are left out: they share one launch call."""
    devices = view.device["device"].to_numpy()
    none = LateStarts(NO_ROWS, NO_ROWS, NO_ROWS, np.zeros(0, bool))
    found = [none] + [_of_device(view, np.flatnonzero(devices == ordinal)) for ordinal in view.devices]
    return LateStarts(*(np.concatenate(columns) for columns in zip(*found, strict=True)))


def held_ns(view: View) -> np.ndarray:
    """How long each device row was held up although it was queued and its device idle, ns."""
    held = np.zeros(len(view.device), np.int64)
    late = late_starts(view)
    sure = ~late.in_doubt
    held[late.rows[sure]] = (late.start_ns - late.since_ns)[sure]
    return held


def _of_device(view: View, rows: Rows) -> LateStarts:
    start, dur, launch = (view.device[column].to_numpy()[rows] for column in ("start_ns", "dur_ns", "launch"))
    freed = np.append(np.iinfo(np.int64).min, np.maximum.accumulate(start + dur)[:-1])
    host = view.host
    returned = np.append((host["start_ns"] + host["dur_ns"]).to_numpy(), 0)[launch]
    launched = (launch >= 0) & ~np.append(view.name_matches(GRAPH_LAUNCH), False)[launch]
    latency = (start - returned)[launched & (returned >= freed)]
    usual = np.percentile(latency, FASTEST_PERCENT, method="lower") if len(latency) else 0
    usual = min(max(int(usual), 0), MOST_LATENCY_NS)
    since = np.maximum(freed, returned + usual)
    late = np.flatnonzero(launched & (start - since > LATE_NS))
    first_of_stream = ~pd.Series(view.device["stream"].to_numpy()[rows]).duplicated().to_numpy()
    in_doubt = first_of_stream | _after_unrecorded(view, launch)
    return LateStarts(rows[late], since[late], start[late], in_doubt[late])


def _after_unrecorded(view: View, launch: Rows) -> np.ndarray:
    """For the launches of a device's events, in the order in which they ran: whether a launch without an
    event lies between each and the one before.
    """
    launches = view.device["launch"].to_numpy()
    without_event = (view.kind == "runtime") & view.name_matches(LAUNCH_CALL)
    without_event[launches[launches >= 0]] = False
    start = view.host["start_ns"].to_numpy()
    without = start[without_event]
    before = np.searchsorted(without, np.append(start, 0)[launch])
    return np.asarray((np.diff(before, prepend=before[:1]) > 0) & (launch >= 0))
