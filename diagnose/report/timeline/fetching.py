"""What worker processes fetched, on the trace's clock."""

from __future__ import annotations

import numpy as np

from diagnose.measure.own_time import clock_offset_ns
from diagnose.measure.recording import Recording
from diagnose.measure.view import NO_ROWS, Rows


def worker_fetches(recording: Recording) -> tuple[Rows, np.ndarray, np.ndarray]:
    """Rows of `Recording.fetches`, begins and ends, ns; none where the two clocks cannot be compared."""
    fetches, phase, trace = recording.fetches, recording.phase("timeline"), recording.timeline
    offset_ns = clock_offset_ns(trace, phase) if trace is not None and phase is not None else None
    if trace is None or offset_ns is None or not len(fetches):
        return NO_ROWS, NO_ROWS, NO_ROWS
    rows = np.flatnonzero(fetches["in_worker"].to_numpy() > 0)
    start = fetches["start_ns"].to_numpy()[rows].astype(np.int64) + offset_ns
    end = start + fetches["dur_ns"].to_numpy()[rows].astype(np.int64)
    return (
        (rows, start, end)
        if trace.own_time is None
        else (rows, trace.own_time.own(start), trace.own_time.own(end))
    )
