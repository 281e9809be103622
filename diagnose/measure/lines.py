"""What a step costs by the line of the user's own code, from the calls recorded in the detail phase.

The detail phase is slow, so its times are scaled to the plain step: they rank lines, they are not stopwatch readings.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diagnose.measure.measured import Measured
from diagnose.measure.view import lies_in

MOST = 20


@dataclass(frozen=True)
class LineCost:
    """``total_ms`` under the line, ``self_ms`` of it not in other lines of the user's code; ms per plain step."""

    file: str
    line: int
    function: str
    self_ms: float
    total_ms: float
    calls_per_step: float


def line_costs(measured: Measured) -> list[LineCost]:
    """Lines of the user's code by self time, costliest first; empty if no detail phase was recorded."""
    calls, detail = measured.recording.calls, measured.detail
    if detail is None or not calls.get("start_ns"):
        return []
    columns = {name: np.asarray(calls[name], np.int64) for name in ("file", "line", "function", "start_ns", "dur_ns", "tid")}
    keep = lies_in(columns["start_ns"] - detail.trace.origin_ns, detail.windows) & (columns["tid"] == _busiest(columns))
    columns = {name: values[keep] for name, values in columns.items()}
    order = np.lexsort((-columns["dur_ns"], columns["start_ns"]))
    columns = {name: values[order] for name, values in columns.items()}
    scale = measured.number("step_ms") / (detail.step_ns / 1e6) / detail.step_count / 1e6
    costs = [
        LineCost(calls["files"][file], line, calls["functions"][function], self_ns * scale, total_ns * scale, count / detail.step_count)
        for (file, line, function), (self_ns, total_ns, count) in _sums(columns).items()
    ]
    return sorted(costs, key=lambda one: -one.self_ms)[:MOST]


def _busiest(columns: dict[str, np.ndarray]) -> int:
    tids, where = np.unique(columns["tid"], return_inverse=True)
    return int(tids[np.argmax(np.bincount(where, weights=columns["dur_ns"]))])


def _sums(columns: dict[str, np.ndarray]) -> dict[tuple[int, int, int], list[int]]:
    """Per line: self ns, total ns (a line inside itself counted once), calls. Calls are sorted by start, enclosing first."""
    sums: dict[tuple[int, int, int], list[int]] = {}
    stack: list[tuple[int, tuple[int, int, int]]] = []  # (end, line) of the calls around the current one
    rows = zip(*(columns[name].tolist() for name in ("file", "line", "function", "start_ns", "dur_ns")), strict=True)
    for file, line, function, start, dur in rows:
        while stack and stack[-1][0] <= start:
            stack.pop()
        key = (file, line, function)
        cost = sums.setdefault(key, [0, 0, 0])
        cost[0] += dur
        cost[2] += 1
        if stack:
            sums[stack[-1][1]][0] -= dur
        if all(around != key for _, around in stack):
            cost[1] += dur
        stack.append((start + dur, key))
    return sums
