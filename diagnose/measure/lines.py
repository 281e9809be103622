"""What a step costs by the line of the user's own code, from the calls recorded in the detail phase.

The detail phase is slow, so its times are put in ms of the plain step: they rank
lines, they are not stopwatch readings.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import pandas as pd

from diagnose.measure.autograd import forward_of
from diagnose.measure.measured import Measured
from diagnose.measure.selection import Selection
from diagnose.measure.sources import Sources
from diagnose.measure.traced_lines import Line, own_times
from diagnose.measure.view import NO_ROWS, Rows, once, started_in
from diagnose.trace.distinct import distinct
from diagnose.trace.intervals import intersect

MOST = 20


@dataclass(frozen=True)
class LineCost:
    """``total_ms`` under the line, ``self_ms`` of it not in other lines of the user's code; ``backward_ms``:
    what autograd takes for its operators, which lies under the line that calls the backward and is not in
    that one's ``self_ms``; ms per plain step. ``is_part``: it calls the backward or the optimizer's step.
    """

    file: str
    line: int
    function: str
    self_ms: float
    total_ms: float
    backward_ms: float
    calls_per_step: float
    is_part: bool


def line_costs(measured: Measured) -> list[LineCost]:
    """Lines of the user's code by what they and their backward take, costliest first; empty if no detail
    phase was recorded.

    Where lines were timed by themselves, their own time is that.
    """
    detail = measured.detail
    if detail is None or not len(detail.calls):
        return []
    costs, timed = {(cost.file, cost.line): cost for cost in _of_calls(measured, detail)}, own_times(measured)
    for (file, line), own in timed.items():
        known = costs.get((file, line)) or LineCost(
            file, line, own.function, 0.0, 0.0, 0.0, own.count_per_step, False
        )
        costs[file, line] = replace(known, self_ms=own.ms, total_ms=max(known.total_ms, own.ms))
    lent = _lent_ms(measured, detail)
    shown = (
        replace(cost, self_ms=max(0.0, cost.self_ms - lent.get(place, 0.0)))
        for place, cost in costs.items()
        if place in timed or not timed
    )
    return sorted(shown, key=lambda cost: -cost.self_ms - cost.backward_ms)[:MOST]


def _lent_ms(measured: Measured, detail: Selection) -> dict[Line, float]:
    """Of each line that calls the backward what it takes under it for lines, whose backward that is."""
    calls, by_line = detail.calls[detail.calls_in_steps], _calls_by_line(detail)
    of_lines = detail.host_intervals(np.concatenate([NO_ROWS, *backward_of_lines(detail).values()]))
    return {
        line: measured.detail_ms(intersect(detail.clipped(calls, np.array(by_line[line])), of_lines))
        for line in _parts(detail)
        if line in by_line
    }


def lines_inside(measured: Measured, lines: Collection[Line]) -> frozenset[Line]:
    """The lines that make calls while calls of these lines go on, and those of a loop that begins at one of
    them with what they call, but for the loop around a step. None without a detail phase.
    """
    detail = measured.detail
    if detail is None or not len(detail.calls) or not lines:
        return frozenset()
    found = _lines_within(detail, lines)
    for looped in _looped(measured, lines):
        inside = looped | _lines_within(detail, looped)
        if not inside & _parts(detail):
            found |= inside
    return frozenset(found - set(lines))


def _lines_within(detail: Selection, lines: Collection[Line]) -> set[Line]:
    calls, places, by_line = detail.calls[detail.calls_in_steps], _call_places(detail), _calls_by_line(detail)
    rows = np.array(sorted(row for line in lines for row in by_line.get(line, [])), np.int64)
    return {places[row] for row in np.flatnonzero(started_in(calls, detail.clipped(calls, rows)))}


def _looped(measured: Measured, lines: Collection[Line]) -> Iterator[set[Line]]:
    """Of each loop that one of the lines begins, its other lines."""
    sources = Sources(measured.recording)
    for file in {file for file, _ in lines}:
        for first, last in sources.loops(file):
            if (file, first) in lines:
                yield {(file, line) for line in range(first + 1, last + 1)}


@once
def _call_places(view: Selection) -> list[Line]:
    """Of each call in the steps its line."""
    calls = view.calls[view.calls_in_steps]
    return list(zip(calls["file"].astype(str), calls["line"].tolist(), strict=True))


@once
def _calls_by_line(view: Selection) -> dict[Line, list[int]]:
    """The rows of the calls in the steps."""
    rows: dict[Line, list[int]] = defaultdict(list)
    for row, place in enumerate(_call_places(view)):
        rows[place].append(row)
    return dict(rows)


def _of_calls(measured: Measured, detail: Selection) -> list[LineCost]:
    calls = detail.calls[detail.calls_in_steps]
    costliest = sorted(_sums(calls).items(), key=lambda item: -item[1][0])[:MOST]
    rows = calls.groupby(["file", "line", "function"], observed=True).indices
    backward, parts = backward_of_lines(detail), _parts(detail)
    costs = []
    for (file, line, function), (self_ns, total_ns, count) in costliest:
        total_ms = measured.detail_ms(detail.clipped(calls, np.asarray(rows[file, line, function])))
        costs.append(
            LineCost(
                file,
                line,
                function,
                total_ms * self_ns / max(total_ns, 1),
                total_ms,
                measured.detail_ms(detail.host_intervals(backward.get((file, line), NO_ROWS))),
                count / detail.step_count,
                (file, line) in parts,
            )
        )
    return costs


@once
def backward_of_lines(view: Selection) -> dict[tuple[str, int], Rows]:
    """By file and line the outermost events of autograd that work for its operators."""
    forward = forward_of(view)
    rows = np.flatnonzero(forward >= 0)
    outer = view.host["parent"].to_numpy()[rows]
    rows = rows[np.append(forward, -1)[outer] < 0]
    return _by_place(view, forward[rows], rows)


@once
def forward_of_lines(view: Selection) -> dict[tuple[str, int], Rows]:
    """By file and line the outermost operators that it calls."""
    own = np.asarray(view.kind == "op") & ~view.host["backward"].to_numpy()
    rows = distinct(view.outermost_ops(view.named(own)))
    return _by_place(view, rows, rows)


def _by_place(view: Selection, called: Rows, rows: Rows) -> dict[tuple[str, int], Rows]:
    """These rows by file and line of ``called``, one for each."""
    places = view.host[["file", "line"]].iloc[called].reset_index(drop=True)
    by_place: dict[Any, Any] = dict(
        places[places["line"] >= 0].groupby(["file", "line"], observed=True).indices
    )
    return {(str(file), int(line)): rows[found] for (file, line), found in by_place.items()}


@once
def _parts(view: Selection) -> set[tuple[str, int]]:
    """The lines that call the backward or the optimizer's step."""
    marked = view.host.loc[view.marked("backward", "optimizer"), ["file", "line"]]
    return {(str(file), int(line)) for file, line in marked.itertuples(index=False)}


def _sums(calls: pd.DataFrame) -> dict[tuple[str, int, str], list[int]]:
    """Per line: self ns, total ns (a line inside itself counted once), calls.

    Calls are sorted by start, enclosing first.
    """
    sums: dict[tuple[str, int, str], list[int]] = {}
    stack: list[tuple[int, tuple[str, int, str]]] = []  # (end, line) of the calls around the current one
    rows = zip(
        *(calls[name].tolist() for name in ("file", "line", "function", "start_ns", "dur_ns")), strict=True
    )
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
