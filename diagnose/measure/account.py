"""The account: who spends each row of the ledger.

While the GPU idles, the thread that launches its next event holds it up, and of that thread the innermost
event; while it is busy, what launched the event that runs. Time in which no event of the thread runs goes to
the user's lines that make calls then in the detail phase; without one it is named after the event before.
"""

from __future__ import annotations

import math
from collections.abc import Set
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from diagnose.measure.areas.fetching import lines_of_workers
from diagnose.measure.areas.user_code import line_times, short_callee
from diagnose.measure.device_time import DeviceTime
from diagnose.measure.host_time import HostTime, host_time
from diagnose.measure.ledger import BUSY_ROWS, Ledger
from diagnose.measure.measured import Measured
from diagnose.measure.missing import Missing
from diagnose.measure.names import MOST_TOLD, Name, Naming, step_ranges
from diagnose.measure.spenders import UNNAMED, Pieces, Spender, sums
from diagnose.measure.traced_lines import loading_lines, python_lines
from diagnose.measure.view import NO_INTERVALS, NO_ROWS, Intervals
from diagnose.trace.intervals import subtract, total, union

LEAST_ROW = 0.05  # of the step: smaller rows have no account
LEAST_SPENDER = 0.01  # of the step
MOST_SPENDERS = 5  # of a row
ALL_THE_TIME = 0.8  # that workers load: as the rules for workers that cannot keep up have it
_MODEL_ROWS = ("forward", "backward")
_ROWS_BESIDE = ("operators", "copies")  # torch's work that is no part of the model


@dataclass(frozen=True)
class RowAccount:
    """A row of the ledger: its ``ns`` in all complete steps, how many of them have a name, and the largest
    spenders, largest first.
    """

    row: str
    ns: int
    named_ns: int
    spenders: list[Spender]


def account(measured: Measured) -> list[RowAccount]:
    """The rows of the ledger that take any time, in its order; small ones without spenders."""
    view, ledger = measured.timeline, measured.ledger
    if view is None or ledger is None:
        return []
    rows = {row: intervals for row, intervals in ledger.rows.items() if len(intervals)}
    naming = Naming(view)
    found: dict[str, RowAccount] = {}
    busy = {row for row in rows if row in BUSY_ROWS and view.has_device}
    # one after the other: of millions of events each takes as much memory as all that was read
    if busy:
        found |= _row_accounts(measured, ledger, busy, DeviceTime(view, naming))
    if len(busy) < len(rows):
        host = HostTime(view, naming)
        del naming
        found |= _row_accounts(measured, ledger, rows.keys() - busy, host)
    return [found[row] for row in rows]


def _row_accounts(
    measured: Measured, ledger: Ledger, rows: Set[str], spent: DeviceTime | HostTime
) -> dict[str, RowAccount]:
    return {row: _row_account(measured, ledger, row, spent) for row in rows}


def _row_account(measured: Measured, ledger: Ledger, row: str, spent: DeviceTime | HostTime) -> RowAccount:
    intervals = ledger.rows[row]
    pieces = spent.pieces(row, intervals)
    named_ns = int(pieces.ns.sum(where=pieces.key != UNNAMED))
    ns, whole_ns = int(np.diff(intervals).sum()), int(np.diff(ledger.span).sum())
    least_ns = LEAST_SPENDER * whole_ns
    if ns < LEAST_ROW * whole_ns:
        return RowAccount(row, ns, named_ns, [])
    if isinstance(spent, HostTime):
        lines = _lines_in_gaps(measured, row, spent, intervals, pieces)
        found = _largest(spent, pieces, lines, least_ns)
        if row in _MODEL_ROWS:
            found = _by_line(measured, row, ns, least_ns) or found
        elif row in _ROWS_BESIDE:
            found = _as_parts_of(found, _by_line(measured, row, ns, least_ns)) or found
    else:
        found = _largest(spent, pieces, [], least_ns)
    if row == "input_wait":
        found = _by_data_set(measured, spent.view.step_count, found, ns, least_ns)
    return RowAccount(row, ns, named_ns, found)


def _largest(
    spent: DeviceTime | HostTime, pieces: Pieces, lines: list[Spender], least_ns: float
) -> list[Spender]:
    """The largest spenders of a row; ``lines`` are those of its gaps, which have no other name then."""
    found = [
        spent.spender(key, pieces.at(pieces.key == key), ns)
        for key, ns in sums(pieces.key, pieces.ns).items()
        if ns >= least_ns and not (lines and key < UNNAMED)
    ]
    return sorted(_merged([*found, *lines], least_ns), key=lambda one: -one.ns)[:MOST_SPENDERS]


def _by_line(measured: Measured, row: str, row_ns: int, least_ns: float) -> list[Spender]:
    """A row's work by the script's lines, which the detail phase knows; empty where it has none, or one holds
    nearly all of the model's: operators say more then. When they run in the timeline is not known.
    """
    detail = measured.detail
    intervals = detail.ledger.rows.get(row, NO_INTERVALS) if detail is not None else NO_INTERVALS
    if detail is None or detail is measured.timeline or not len(detail.calls) or not len(intervals):
        return []
    host = host_time(detail)  # for both rows
    pieces, pace = host.pieces(row, intervals), row_ns / total(intervals)
    found = _largest(host, pieces, [], least_ns / pace)
    of_lines = [one for one in found if one.name.kind == "line"]
    if not of_lines or (row in _MODEL_ROWS and of_lines[0].ns > MOST_TOLD * total(intervals)):
        return []
    steps = measured.timeline.step_count / detail.step_count if measured.timeline else 1.0
    return [
        replace(one, ns=round(one.ns * pace), count=_whole(one.count * steps), host={}, calls=NO_ROWS)
        for one in found
    ]


def _as_parts_of(spenders: list[Spender], lines: list[Spender]) -> list[Spender]:
    """Lines that each take a part of what these spenders take, wherever in the timeline."""
    host, whole_ns = _on_host(spenders)
    return [replace(line, host=host, host_share=min(1.0, line.ns / whole_ns)) for line in lines]


def _by_data_set(
    measured: Measured, step_count: int, spenders: list[Spender], row_ns: int, least_ns: float
) -> list[Spender]:
    """The wait for batches by the data set's lines: where those were timed in the main process, or by looks
    at workers that load all the time. What else the loader does stays with who waits for it.
    """
    of_workers = lines_of_workers(measured) if measured.number("worker_busy_share") >= ALL_THE_TIME else None
    known = (
        loading_lines([], measured) if of_workers is None or isinstance(of_workers, Missing) else of_workers
    )
    lines = [line for line in known if line.share * row_ns >= least_ns]
    if not lines or not spenders:
        return spenders
    left = 1 - sum(line.share for line in lines)
    waiting = [replace(one, ns=round(one.ns * left), host_share=one.host_share * left) for one in spenders]
    loading = [
        replace(
            spenders[0],
            name=Name("line", line.function, line.file, line.line),
            mostly="",
            ns=round(line.share * row_ns),
            count=_whole(line.count_per_step * step_count),
            host_share=line.share,
        )
        for line in lines
    ]
    found = [one for one in (*loading, *waiting) if one.ns >= least_ns]
    return sorted(found, key=lambda one: -one.ns)[:MOST_SPENDERS]


def _whole(count: float) -> float:
    return count if math.isnan(count) else round(count)


def _merged(spenders: list[Spender], least_ns: float) -> list[Spender]:
    """A line may spend time in its own events and between them."""
    by_name: dict[Any, list[Spender]] = {}
    for one in spenders:
        at_line = one.name.line >= 0 and not one.name.backward and one.name.kind == "line"
        by_name.setdefault((one.name.file, one.name.line) if at_line else one.name, []).append(one)
    merged = [_one(same) for same in by_name.values()]
    return [one for one in merged if one.ns >= least_ns]


def _one(same: list[Spender]) -> Spender:
    if len(same) == 1:
        return same[0]
    ns = sum(one.ns for one in same)
    host, whole_ns = _on_host(same)
    return replace(same[0], ns=ns, host=host, host_share=min(1.0, ns / whole_ns))


def _on_host(spenders: list[Spender]) -> tuple[dict[int, Intervals], int]:
    """All that they do there, by thread; and how long that is, at least 1 ns."""
    lanes = {lane for one in spenders for lane in one.host}
    host = {
        lane: union(np.concatenate([one.host.get(lane, NO_INTERVALS) for one in spenders])) for lane in lanes
    }
    return host, max(sum(map(total, host.values())), 1)


def _lines_in_gaps(
    measured: Measured, row: str, host: HostTime, intervals: Intervals, pieces: Pieces
) -> list[Spender]:
    """The user's lines that run while no event of the training thread does, by the detail phase, and where
    lines were timed by that.
    """
    detail = measured.detail
    gaps_ns = int(pieces.ns[pieces.key < UNNAMED].sum())
    if detail is None or not len(detail.calls) or not gaps_ns:
        return []
    recorded = np.asarray(detail.kind != "python") & detail.on_training_thread & ~step_ranges(detail)
    within = subtract(
        detail.ledger.rows.get(row, NO_INTERVALS), detail.host_intervals(np.flatnonzero(recorded))
    )
    lines = line_times(detail, np.flatnonzero(detail.calls_in_steps), within)
    if row == "python":
        lines = python_lines(lines, measured)
    gaps = host.gaps(intervals)
    return [
        Spender(
            Name("line", line.function, line.file, line.line),
            short_callee(line.callee),
            round(line.share * gaps_ns),
            round(line.count_per_step * host.view.step_count),
            {host.view.trace.training_thread: gaps},
            host_share=min(1.0, line.share),
        )
        for line in lines
    ]
