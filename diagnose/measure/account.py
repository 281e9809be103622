"""The account: who spends each row of the ledger.

While the GPU idles, the thread that launches its next event holds it up, and of that thread the innermost
event; while it is busy, what launched the event that runs. Time in which no event of the thread runs goes to
the user's lines that make calls then in the detail phase; without one it is named after the event before.
"""

from __future__ import annotations

from collections.abc import Set
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, NamedTuple

import numpy as np

from diagnose.measure.areas.user_code import line_times, short_callee
from diagnose.measure.blocks import blocks, sum_of_each
from diagnose.measure.innermost import own_pieces
from diagnose.measure.kernel_names import short_name
from diagnose.measure.ledger import BUSY_ROWS, Ledger, dispatching_threads
from diagnose.measure.measured import Measured
from diagnose.measure.names import MOST_TOLD, Name, Names, Naming, step_ranges
from diagnose.measure.selection import Selection
from diagnose.measure.totals import counted_once
from diagnose.measure.traced_lines import loading_lines, python_lines
from diagnose.measure.view import NO_INTERVALS, NO_ROWS, Intervals, Rows, once
from diagnose.trace.distinct import distinct
from diagnose.trace.intervals import covered_before, subtract, total, union
from diagnose.trace.nesting import nearest

LEAST_ROW = 0.05  # of the step: smaller rows have no account
LEAST_SPENDER = 0.01  # of the step
MOST_SPENDERS = 5  # of a row
MOSTLY = 0.5  # of a spender's time, for what is inside it to be named
UNNAMED = -1
_MODEL_ROWS = ("forward", "backward")


@dataclass(frozen=True)
class Spender:
    """Who spends ``ns`` of a row, in all complete steps, with ``count`` events. ``mostly``: the operator,
    function or kernel inside that takes most of it; may be empty.

    ``host`` (ns, by thread), ``calls`` (host rows) and ``device`` (rows): all that it does, in any row; none
    where that is known of the detail phase alone. Of the time on the host only ``host_share`` is its own.
    """

    name: Name
    mostly: str
    ns: int
    count: int
    host: dict[int, Intervals] = field(default_factory=dict)
    calls: Rows = field(default_factory=lambda: NO_ROWS)
    device: Rows = field(default_factory=lambda: NO_ROWS)
    host_share: float = 1.0


class Pieces(NamedTuple):
    """Of the times of a row, a value each: ``key`` of who spends it, what is ``inside``, ``ns``."""

    key: Rows
    inside: Rows
    ns: np.ndarray

    def at(self, chosen: np.ndarray) -> Pieces:
        return Pieces(*(column[chosen] for column in self))


def _sums(of: Rows, ns: np.ndarray) -> dict[int, int]:
    """By number, lowest first, without what has none."""
    numbers = distinct(of)
    sums = np.zeros(len(numbers), np.int64)
    for some in blocks(len(of)):
        np.add.at(sums, np.searchsorted(numbers, of[some]), ns[some])
    return {
        number: ns for number, ns in zip(numbers.tolist(), sums.tolist(), strict=True) if number != UNNAMED
    }


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
        found |= _row_accounts(measured, ledger, busy, _DeviceTime(view, naming))
    if len(busy) < len(rows):
        host = _HostTime(view, naming)
        del naming
        found |= _row_accounts(measured, ledger, rows.keys() - busy, host)
    return [found[row] for row in rows]


def _row_accounts(
    measured: Measured, ledger: Ledger, rows: Set[str], spent: _DeviceTime | _HostTime
) -> dict[str, RowAccount]:
    return {row: _row_account(measured, ledger, row, spent) for row in rows}


def _row_account(measured: Measured, ledger: Ledger, row: str, spent: _DeviceTime | _HostTime) -> RowAccount:
    intervals = ledger.rows[row]
    pieces = spent.pieces(row, intervals)
    named_ns = int(pieces.ns.sum(where=pieces.key != UNNAMED))
    ns, whole_ns = int(np.diff(intervals).sum()), int(np.diff(ledger.span).sum())
    least_ns = LEAST_SPENDER * whole_ns
    if ns < LEAST_ROW * whole_ns:
        return RowAccount(row, ns, named_ns, [])
    if isinstance(spent, _HostTime):
        lines = _lines_in_gaps(measured, row, spent, intervals, pieces)
        found = _largest(spent, pieces, lines, least_ns)
        if row in _MODEL_ROWS:
            found = _by_line_of_model(measured, row, ns, least_ns) or found
    else:
        found = _largest(spent, pieces, [], least_ns)
    if row == "input_wait":
        found = _by_data_set(measured, spent.view.step_count, found, ns, least_ns)
    return RowAccount(row, ns, named_ns, found)


def _largest(
    spent: _DeviceTime | _HostTime, pieces: Pieces, lines: list[Spender], least_ns: float
) -> list[Spender]:
    """The largest spenders of a row; ``lines`` are those of its gaps, which have no other name then."""
    found = [
        spent.spender(key, pieces.at(pieces.key == key), ns)
        for key, ns in _sums(pieces.key, pieces.ns).items()
        if ns >= least_ns and not (lines and key < UNNAMED)
    ]
    return sorted(_merged([*found, *lines], least_ns), key=lambda one: -one.ns)[:MOST_SPENDERS]


def _by_line_of_model(measured: Measured, row: str, row_ns: int, least_ns: float) -> list[Spender]:
    """A part of the model's work by the script's lines, which the detail phase knows; empty where it has
    none, or one holds nearly all: operators say more then. When they run in the timeline is not known.
    """
    detail = measured.detail
    intervals = detail.ledger.rows.get(row, NO_INTERVALS) if detail is not None else NO_INTERVALS
    if detail is None or detail is measured.timeline or not len(detail.calls) or not len(intervals):
        return []
    host = _host_time(detail)  # for both rows
    pieces, pace = host.pieces(row, intervals), row_ns / total(intervals)
    found = _largest(host, pieces, [], least_ns / pace)
    of_lines = [one for one in found if one.name.kind == "line"]
    if not of_lines or of_lines[0].ns > MOST_TOLD * total(intervals):
        return []
    steps = measured.timeline.step_count / detail.step_count if measured.timeline else 1.0
    return [
        replace(one, ns=round(one.ns * pace), count=round(one.count * steps), host={}, calls=NO_ROWS)
        for one in found
    ]


def _by_data_set(
    measured: Measured, step_count: int, spenders: list[Spender], row_ns: int, least_ns: float
) -> list[Spender]:
    """The wait for batches that are loaded in the main process, by the data set's lines where those were
    timed; what else the loader does stays with who waits for it.
    """
    lines = [line for line in loading_lines([], measured) if line.share * row_ns >= least_ns]
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
            count=round(line.count_per_step * step_count),
            host_share=line.share,
        )
        for line in lines
    ]
    found = [one for one in (*loading, *waiting) if one.ns >= least_ns]
    return sorted(found, key=lambda one: -one.ns)[:MOST_SPENDERS]


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
    lanes = {lane for one in same for lane in one.host}
    host = {lane: union(np.concatenate([one.host.get(lane, NO_INTERVALS) for one in same])) for lane in lanes}
    own_share = min(1.0, ns / max(sum(map(total, host.values())), 1))
    return replace(same[0], ns=ns, host=host, host_share=own_share)


def _lines_in_gaps(
    measured: Measured, row: str, host: _HostTime, intervals: Intervals, pieces: Pieces
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


def _mostly(pieces: Pieces, whole_ns: int) -> int | None:
    """What more than `MOSTLY` of the time is spent inside; None if there is nothing of the kind."""
    by_part = _sums(pieces.inside, pieces.ns)
    most = max(by_part, key=by_part.__getitem__, default=None)
    return most if most is not None and by_part[most] >= MOSTLY * whole_ns else None


# ---- the host


@dataclass(frozen=True)
class _Thread:
    """What a thread does: times of its own (ns), sorted and disjoint, and the event whose each is."""

    owner: Rows
    own: Intervals

    @classmethod
    def of(cls, view: Selection, around: Rows, counts: np.ndarray, rows: Rows) -> _Thread:
        """Of a thread's events (``rows``) of those that count, which may overlap without one enclosing the
        other. ``around``: the innermost event around each.
        """
        start = view.host["start_ns"].to_numpy()
        end = start + view.host["dur_ns"].to_numpy()
        owner, own = own_pieces(start, end, rows, nearest(counts, around, around[rows]))
        del start, end  # of millions of events each array counts
        order = np.argsort(own[:, 0], kind="stable")
        owner = owner[order]
        for column in own.T:  # one after the other, for memory's sake
            column[:] = column[order]
        del order
        own[1:, 0] = np.maximum(own[1:, 0], np.maximum.accumulate(own[:, 1])[:-1])
        lasting = own[:, 1] > own[:, 0]
        return cls(owner, own) if lasting.all() else cls(owner[lasting], own[lasting])

    @cached_property
    def busy(self) -> Intervals:
        """When it does anything."""
        return union(self.own)

    def spent_by(self, events: np.ndarray) -> Intervals:
        """The time of its own of these host events (a flag for each)."""
        spans = [union(self.own[some][events[self.owner[some]]]) for some in blocks(len(self.own))]
        return union(np.concatenate([NO_INTERVALS, *spans]))

    def spent_in(self, intervals: Intervals) -> tuple[Rows, np.ndarray]:
        """The events whose own times lie in the intervals, again for each such time; and its part there,
        ns.
        """
        first = np.searchsorted(self.own[:, 1], intervals[:, 0], side="right")
        behind = np.searchsorted(self.own[:, 0], intervals[:, 1], side="left")
        some = first < behind
        depth = np.zeros(len(self.own) + 1, np.int32)
        np.add.at(depth, first[some], 1)
        np.add.at(depth, behind[some], -1)
        touched = np.cumsum(depth, out=depth)[:-1] > 0
        return self.owner[touched], _inside(intervals, self.own[touched])


_NO_THREAD = _Thread(NO_ROWS, NO_INTERVALS)


def _threads(view: Selection, around: Rows, counts: np.ndarray) -> dict[int, _Thread]:
    """Of the events that count, by the thread's number; one after the other, for memory's sake."""
    tid = view.host["tid"].to_numpy()
    return {
        thread: _Thread.of(view, around, counts, np.flatnonzero(counts & (tid == thread)).astype(np.int32))
        for thread in np.unique(tid[counts]).tolist()
    }


class _HostTime:
    """What the threads do that train or launch; time by the innermost event."""

    def __init__(self, view: Selection, naming: Naming) -> None:
        self.view = view
        self.tid = view.host["tid"].to_numpy()
        self.around, self.inside = naming.around, naming.inside
        everywhere = step_ranges(view)
        self._divide(naming, everywhere)
        while (more := self.names.of_everything(view) & ~everywhere).any():
            everywhere |= more
            self._divide(naming, everywhere)

    def _divide(self, naming: Naming, left_out: np.ndarray) -> None:
        """The threads' time by the innermost event but those left out; and what events are called then."""
        view = self.view
        self.threads, self.names = {}, Names(NO_ROWS, [])  # what is divided anew makes room
        self.threads = _threads(view, self.around, dispatching_threads(view) & ~left_out)
        weight_ns = np.zeros(len(view.host))
        for thread in self.threads.values():
            weight_ns += sum_of_each(thread.owner, _inside(view.host_span, thread.own), len(view.host))
        self.names = naming.names(weight_ns)

    @property
    def main(self) -> _Thread:
        """The training thread."""
        return self.threads.get(self.view.trace.training_thread, _NO_THREAD)

    def pieces(self, row: str, intervals: Intervals) -> Pieces:
        parts, main = [], self.view.trace.training_thread
        launch = self._following(intervals)
        if row == "queued":  # nobody on the host: it is told what waits
            return self._of(launch, np.diff(intervals).reshape(-1))
        lane = np.where(launch >= 0, np.append(self.tid, main)[launch], main)
        left = [intervals[lane == main]]
        for thread in np.unique(lane[lane != main]).tolist():
            mine = intervals[lane == thread]
            parts.append(self._spent(thread, mine))
            left.append(subtract(mine, self.threads[thread].busy) if thread in self.threads else mine)
        rest = union(np.concatenate(left))
        parts += [self._spent(main, rest), self._between(self.gaps(rest))]
        columns = list(zip(*parts, strict=True))
        del parts  # of millions of pieces, each column goes as soon as it is whole
        return Pieces(*(np.concatenate(columns.pop(0)) for _ in Pieces._fields))

    def _spent(self, thread: int, intervals: Intervals) -> Pieces:
        return self._of(*self.threads.get(thread, _NO_THREAD).spent_in(intervals))

    def _of(self, events: Rows, ns: np.ndarray) -> Pieces:
        """Times of these events (-1 for none)."""
        return Pieces(_at(events, self.names.of), _at(events, self.inside[0]), ns)

    def _between(self, gaps: Intervals) -> Pieces:
        """Times of the training thread in which nothing of it runs, by the name of what ran before."""
        number = self._before(gaps[:, 0])
        key = np.where(number >= 0, -2 - number, UNNAMED)
        return Pieces(key, np.full(len(key), UNNAMED, np.int32), np.diff(gaps).reshape(-1))

    def gaps(self, intervals: Intervals) -> Intervals:
        """The part of these times in which nothing of the training thread runs."""
        return subtract(intervals, self.main.busy)

    def _before(self, times: np.ndarray) -> Rows:
        """The number of the name of what the training thread did last before each time; -1 if nothing."""
        at = np.searchsorted(self.main.own[:, 0], times, side="right") - 1
        return _at(_at(at, self.main.owner), self.names.of)

    def _following(self, intervals: Intervals) -> Rows:
        """The call that launches what the busiest device runs after each time; -1 where there is none."""
        view = self.view
        if not view.has_device:
            return np.full(len(intervals), -1)
        here = np.flatnonzero(view.device["device"].to_numpy() == view.devices[0])
        following = np.searchsorted(view.device["start_ns"].to_numpy()[here], intervals[:, 1])
        return _at(following, view.device["launch"].to_numpy()[here])

    def spender(self, key: int, pieces: Pieces, ns: int) -> Spender:
        if key < UNNAMED:
            return self._gap(-2 - key, ns)
        lanes = {
            number: spans
            for number, thread in self.threads.items()
            if len(spans := thread.spent_by(self.names.of == key))
        }
        of = np.flatnonzero((self.names.of == key) & self.view.in_steps)
        outer = self.around[of]
        begins = (outer < 0) | (self.names.of[outer] != key)
        calls = of[np.asarray(self.view.kind == "runtime")[of]]
        part = _mostly(pieces, ns)
        name = self.names.name(key)
        text = "" if part is None else self.inside[1](part)
        return Spender(name, "" if text == name.text else text, ns, int(begins.sum()), lanes, calls)

    def _gap(self, number: int, ns: int) -> Spender:
        main = self.view.trace.training_thread
        gaps = self.gaps(self.view.host_span)
        mine = gaps[self._before(gaps[:, 0]) == number]
        name = self.names.name(number)
        return Spender(name._replace(kind="gap"), "", ns, len(mine), {main: mine})


@once
def _host_time(view: Selection) -> _HostTime:
    return _HostTime(view, Naming(view))


# ---- the device


class _DeviceTime:
    """What the busiest device runs, by what launched it; time in which several events run counts once."""

    def __init__(self, view: Selection, naming: Naming) -> None:
        self.view = view
        self.rows = np.flatnonzero(view.device["device"].to_numpy() == view.devices[0])
        self.row, self.once = counted_once(view, self.rows)
        self.launch = view.device["launch"].to_numpy()[self.rows]
        linked = self.launch >= 0
        weights = np.maximum(self.once[:, 1] - self.once[:, 0], 0) * view.device_in_steps[self.rows]
        self.names = naming.names(np.bincount(self.launch[linked], weights[linked], minlength=len(view.host)))
        texts = view.device["name"].array
        shorts, of_category = np.unique(
            [short_name(str(name)) for name in texts.categories], return_inverse=True
        )
        self.kernels: list[str] = shorts.tolist()
        self.kernel = np.append(of_category, -1)[texts.codes[self.rows]]
        number = np.where(linked, np.append(self.names.of, -1)[self.launch], -1)
        told = self.names.told()
        # a call of the runtime says less than the kernel that it launches
        by_kernel = ~linked | ~np.append(told, False)[np.where(linked, self.launch, -1)]
        self.key = np.where(by_kernel, -2 - self.kernel, number)

    def pieces(self, row: str, intervals: Intervals) -> Pieces:
        ns = _inside(intervals, self.once)
        some = (ns > 0) & (self.row == BUSY_ROWS.index(row))
        return Pieces(self.key[some], self.kernel[some], ns[some])

    def spender(self, key: int, pieces: Pieces, ns: int) -> Spender:
        mine = self.rows[(self.key == key)]
        count = int(self.view.device_in_steps[mine].sum())
        if key < UNNAMED:
            return Spender(Name("kernel", self.kernels[-2 - key]), "", ns, count, device=mine)
        part = _mostly(pieces, ns)
        mostly = "" if part is None else self.kernels[part]
        return Spender(self.names.name(key), mostly, ns, count, device=mine)


def _at(rows: Rows, numbers: Rows) -> Rows:
    """The number of each row; `UNNAMED` for -1 and for a row behind the last."""
    numbered = np.append(numbers, numbers.dtype.type(UNNAMED))  # of millions, as narrow as they were
    return np.asarray(numbered[rows])


def _inside(intervals: Intervals, pieces: Intervals) -> np.ndarray:
    """How much of each piece lies inside the intervals, ns."""
    found = np.zeros(len(pieces), np.int64)
    for some in blocks(len(pieces)):
        begin, end = pieces[some].T
        found[some] = covered_before(intervals, np.maximum(begin, end)) - covered_before(intervals, begin)
    return found
