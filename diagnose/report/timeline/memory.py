"""Memory over time: step by step, and where the profiler recorded it
(``profile_memory``) block by block within the steps.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import NDArray

from diagnose.measure.recording import Recording
from diagnose.trace.distinct import distinct
from diagnose.trace.schema import Trace

Rows = NDArray[np.int64]
Series = dict[str, Any]  # of the picture's ``memory``

SERIES = {
    "allocated_series_bytes": "GPU memory allocated",
    "rss_series_bytes": "Memory of the process (resident)",
}
SLOTS = 500  # of the time; 4 points each
MOST_POINTS = 4 * SLOTS
MOST_DEVICES = 8
SINCE = " since the recording began"  # what was allocated before is not counted


def memory_series(recording: Recording) -> list[Series]:
    """The picture's ``memory``: step by step, then block by block within the complete steps."""
    return [*_by_step(recording), *_by_block(recording)]


def _by_step(recording: Recording) -> list[Series]:
    """Of the GPU where it was used, else of the process; of the plain steps after which it was read."""
    for name, title in SERIES.items():
        values = recording.facts.get(name) or []
        if len(values) > 1:
            return [
                {
                    "title": title,
                    "x_title": "step",
                    "x": recording.memory_steps(len(values)).tolist(),
                    "bytes": list(values),
                }
            ]
    return []


def _by_block(recording: Recording) -> list[Series]:
    """Of the first trace that recorded memory in its complete steps; of its GPUs, else of the CPU."""
    for trace in (recording.timeline, recording.detail):
        if trace is not None and (found := list(_in_steps(trace))):
            return found
    return []


def _in_steps(trace: Trace) -> Iterator[Series]:
    steps, memory = trace.complete_steps, trace.memory
    if len(steps) == 0:
        return
    begin, end = int(steps[0, 0]), int(steps[-1, 1])
    devices = np.unique(memory["device"][memory["time_ns"].between(begin, end)])
    gpus = devices[devices >= 0][:MOST_DEVICES]
    for device in gpus if len(gpus) else devices:
        for title, curve in _curves(
            memory[memory["device"] == device], f"GPU {device}" if device >= 0 else "CPU"
        ).items():
            x, level = _staircase(curve, begin, end)
            yield {
                "title": title,
                "x_title": "ms of the recording",
                "x": np.round(x / 1e6, 6).tolist(),
                "bytes": level.tolist(),
            }


class Curve(NamedTuple):
    """Bytes before the first event, and after each."""

    before: Rows  # one
    time_ns: Rows
    level: Rows


def _curves(rows: pd.DataFrame, device: str) -> dict[str, Curve]:
    """What was allocated and what was reserved, by title."""
    time, change, allocated, reserved = (
        rows[name].to_numpy() for name in ("time_ns", "change_bytes", "allocated_bytes", "reserved_bytes")
    )
    since = SINCE if device == "CPU" else ""
    if (allocated < 0).all():  # torch 1.9 tells no totals
        since = SINCE
        allocated = np.cumsum(change)
        allocated = allocated - min(0, allocated.min())  # blocks from before were freed
    known = allocated >= 0
    before = np.maximum(allocated[known][:1] - change[known][:1], 0)
    curves = {f"{device} memory allocated{since}": Curve(before, time[known], allocated[known])}
    if (reserved > 0).any():
        known = reserved >= 0
        curves[f"{device} memory reserved"] = Curve(reserved[known][:1], time[known], reserved[known])
    return curves


def _staircase(curve: Curve, begin: int, end: int) -> tuple[Rows, Rows]:
    """The corners of the curve between two times, in ns from ``begin``: what held until each
    change, and what holds from then on.
    """
    earlier, inside = curve.time_ns < begin, (curve.time_ns >= begin) & (curve.time_ns <= end)
    first = np.append(curve.before, curve.level[earlier])[-1:]
    level = np.append(first, curve.level[inside])
    changes = np.flatnonzero(np.diff(level))
    x = np.concatenate([[0], np.repeat(curve.time_ns[inside][changes] - begin, 2), [end - begin]])
    y = np.repeat(np.append(first, level[changes + 1]), 2)
    keep = _drawn(x, y)
    return x[keep], y[keep]


def _drawn(x: Rows, y: Rows) -> Rows:
    """At most `MOST_POINTS` positions: of each of `SLOTS` equal parts of the time the first, the
    lowest, the highest and the last point.

    A line through these looks like the line through all of them, as wide as there are
    parts (M4: Jugel et al., VLDB 2014).
    """
    if len(x) <= MOST_POINTS:
        return np.arange(len(x))
    slot = np.minimum((x - x[0]) / (x[-1] - x[0] + 1) * SLOTS, SLOTS - 1).astype(np.int64)
    by_level = np.lexsort((y, slot))
    first = np.flatnonzero(np.diff(slot, prepend=-1))
    last = np.append(first[1:], len(x)) - 1
    return distinct(first, last, by_level[first], by_level[last])
