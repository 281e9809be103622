"""What worker processes fetched, on the trace's clock."""

from __future__ import annotations

import numpy as np

from diagnose.measure.recording import Recording
from diagnose.measure.view import NO_ROWS, Rows


def worker_fetches(recording: Recording) -> tuple[Rows, np.ndarray, np.ndarray]:
    """Rows of `Recording.fetches`, begins and ends, ns; none where the two clocks cannot be compared."""
    fetches, offset_ns = recording.fetches, clock_offset_ns(recording)
    if offset_ns is None or not len(fetches):
        return NO_ROWS, NO_ROWS, NO_ROWS
    rows = np.flatnonzero(fetches["in_worker"].to_numpy() > 0)
    start = fetches["start_ns"].to_numpy()[rows].astype(np.int64) + offset_ns
    return rows, start, start + fetches["dur_ns"].to_numpy()[rows].astype(np.int64)


def clock_offset_ns(recording: Recording) -> int | None:
    """What to add to a moment of the host's clock (`perf_counter_ns`) to have it on the trace's; None where ticks do not tell.

    A tick is noted in steps.json and marked in the trace, some microseconds apart.
    """
    phase, trace = recording.phase("timeline"), recording.timeline
    if phase is None or trace is None or trace.step_source != "mark":
        return None
    tick_ns, before = np.asarray(phase["tick_ns"], np.int64), trace.steps["number"].to_numpy() - 1 - phase["first_tick"]
    noted = (before >= 0) & (before < len(tick_ns))  # a step begins with the tick before its own
    if not noted.any():
        return None
    return int(np.median(trace.steps["start_ns"].to_numpy()[noted] - tick_ns[before[noted]]))
