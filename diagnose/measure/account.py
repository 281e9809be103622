"""The account: who spends each row of the ledger.

While the GPU idles, the thread that launches its next event holds it up, and of that thread the innermost
event; while it is busy, what launched the event that runs. Time in which no event of the thread runs is named
after the last one: your Python, or a wait outside torch, comes after it.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from diagnose.measure.innermost import own_pieces
from diagnose.measure.kernel_names import short_name
from diagnose.measure.ledger import BUSY_ROWS, dispatching_threads
from diagnose.measure.measured import Measured
from diagnose.measure.names import Name, around, inside, names
from diagnose.measure.selection import Selection
from diagnose.measure.totals import counted_once
from diagnose.measure.view import NO_ROWS, Intervals, Rows
from diagnose.trace.intervals import covered_before, subtract, union

LEAST_ROW = 0.05  # of the step: smaller rows have no account
LEAST_SPENDER = 0.01  # of the step
MOST_SPENDERS = 5  # of a row
MOSTLY = 0.5  # of a spender's time, for what is inside it to be named
UNNAMED = -1


@dataclass(frozen=True)
class Spender:
    """Who spends ``ns`` of a row, in all complete steps, with ``count`` events. ``mostly``: the operator,
    function or kernel inside that takes most of it; may be empty.

    ``host`` (ns, by thread), ``calls`` (host rows) and ``device`` (rows): all that it does, in any row.
    """

    name: Name
    mostly: str
    ns: int
    count: int
    host: dict[int, Intervals] = field(default_factory=dict)
    calls: Rows = field(default_factory=lambda: NO_ROWS)
    device: Rows = field(default_factory=lambda: NO_ROWS)


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
    """The rows of the ledger in its order; smaller ones without spenders."""
    view, ledger = measured.timeline, measured.ledger
    if view is None or ledger is None:
        return []
    whole = int(np.diff(ledger.span).sum())
    device = _DeviceTime(view) if view.has_device else None
    host = _HostTime(view)
    rows = []
    for row, intervals in ledger.rows.items():
        busy = device is not None and row in BUSY_ROWS
        spent: _DeviceTime | _HostTime = device if device is not None and busy else host
        pieces = spent.pieces(row, intervals)
        named_ns = int(pieces["ns"][pieces["key"] != UNNAMED].sum())
        ns = int(np.diff(intervals).sum()) if len(intervals) else 0
        large = ns >= LEAST_ROW * whole
        rows.append(RowAccount(row, ns, named_ns, _largest(spent, pieces, whole) if large else []))
    return rows


def _largest(spent: _DeviceTime | _HostTime, pieces: pd.DataFrame, whole_ns: int) -> list[Spender]:
    by_key = pieces[pieces["key"] != UNNAMED].groupby("key")["ns"].sum().sort_values(ascending=False)
    by_key = by_key[by_key >= LEAST_SPENDER * whole_ns][:MOST_SPENDERS]
    return [
        spent.spender(key, pieces[pieces["key"] == key], ns)
        for key, ns in zip(by_key.index.tolist(), by_key.tolist(), strict=True)
    ]


def _mostly(pieces: pd.DataFrame, whole_ns: int) -> Any:
    """What more than `MOSTLY` of the time is spent inside; None if there is nothing of the kind."""
    by_part = pieces[pieces["inside"] != UNNAMED].groupby("inside")["ns"].sum()
    if not len(by_part) or by_part.max() < MOSTLY * whole_ns:
        return None
    return by_part.idxmax()


# ---- the host


class _HostTime:
    """What the threads do that train or launch; time by the innermost event."""

    def __init__(self, view: Selection) -> None:
        self.view = view
        rows = np.flatnonzero(dispatching_threads(view))
        start = view.host["start_ns"].to_numpy()
        owner, own = own_pieces(start, start + view.host["dur_ns"].to_numpy(), rows, around(view)[rows])
        self.tid = view.host["tid"].to_numpy()
        order = np.lexsort((own[:, 0], self.tid[owner]))
        owner, own = owner[order], own[order]
        lane = self.tid[owner]
        reach = own[:, 1].copy()
        for thread in np.unique(lane):  # events that overlap without one enclosing the other
            mine = lane == thread
            reach[mine] = np.maximum.accumulate(own[mine, 1])
        follows = np.append(False, lane[1:] == lane[:-1])[: len(lane)]
        own[:, 0] = np.where(
            follows, np.maximum(own[:, 0], np.append(0, reach[:-1])[: len(reach)]), own[:, 0]
        )
        lasting = own[:, 1] > own[:, 0]
        self.owner, self.own, self.lane = owner[lasting], own[lasting], lane[lasting]
        steps_ns = _inside(view.host_span, self.own)
        self.names = names(view, np.bincount(self.owner, steps_ns, minlength=len(view.host)))
        self.inside = inside(view)

    def pieces(self, row: str, intervals: Intervals) -> pd.DataFrame:
        """Of the times of a row: ``key`` of who spends them, what is ``inside``, ``ns``."""
        frames, main = [], self.view.trace.training_thread
        lane = self._holding_up(intervals)
        left = [intervals[lane == main]]
        for thread in np.unique(lane[lane != main]).tolist():
            mine = intervals[lane == thread]
            frames.append(self._spent(thread, mine))
            left.append(subtract(mine, self.own[self.lane == thread]))
        rest = union(np.concatenate(left))
        frames += [self._spent(main, rest), self._between(subtract(rest, self.own[self.lane == main]))]
        return pd.concat(frames, ignore_index=True)

    def _spent(self, thread: int, intervals: Intervals) -> pd.DataFrame:
        mine = np.flatnonzero(self.lane == thread)
        ns = _inside(intervals, self.own[mine])
        mine, ns = mine[ns > 0], ns[ns > 0]
        owner = self.owner[mine]
        return pd.DataFrame({"key": self.names.of[owner], "inside": self.inside[0][owner], "ns": ns})

    def _between(self, gaps: Intervals) -> pd.DataFrame:
        """Times of the training thread in which nothing of it runs, by the name of what ran before."""
        before = self._before(gaps[:, 0])
        key = np.where(before >= 0, self.names.of[before], UNNAMED)
        return pd.DataFrame(
            {"key": np.where(key >= 0, -2 - key, UNNAMED), "inside": UNNAMED, "ns": np.diff(gaps).reshape(-1)}
        )

    def _before(self, times: np.ndarray) -> Rows:
        """The last event of the training thread that worked before each time; -1 if none did."""
        mine = np.flatnonzero(self.lane == self.view.trace.training_thread)
        at = np.searchsorted(self.own[mine, 0], times, side="right") - 1
        return (
            np.where(at >= 0, self.owner[mine[np.maximum(at, 0)]], -1)
            if len(mine)
            else np.full(len(times), -1)
        )

    def _holding_up(self, intervals: Intervals) -> np.ndarray:
        """The thread that launches what the busiest device runs after each time; without one the training
        thread.
        """
        view, main = self.view, self.view.trace.training_thread
        if not view.has_device:
            return np.full(len(intervals), main)
        here = np.flatnonzero(view.device["device"].to_numpy() == view.devices[0])
        following = np.searchsorted(view.device["start_ns"].to_numpy()[here], intervals[:, 1])
        launch = np.append(view.device["launch"].to_numpy()[here], -1)[following]
        return np.where(launch >= 0, self.tid[launch], main)

    def spender(self, key: int, pieces: pd.DataFrame, ns: int) -> Spender:
        if key < UNNAMED:
            return self._gap(-2 - key, ns)
        mine = self.names.of[self.owner] == key
        lanes = {
            int(lane): union(self.own[mine & (self.lane == lane)]) for lane in np.unique(self.lane[mine])
        }
        of = np.flatnonzero((self.names.of == key) & self.view.in_steps)
        outer = around(self.view)[of]
        begins = (outer < 0) | (self.names.of[outer] != key)
        calls = of[np.asarray(self.view.kind == "runtime")[of]]
        part = _mostly(pieces, ns)
        name = self.names.name(key)
        text = "" if part is None else self.inside[1](int(part))
        return Spender(name, "" if text == name.text else text, ns, int(begins.sum()), lanes, calls)

    def _gap(self, number: int, ns: int) -> Spender:
        main = self.view.trace.training_thread
        gaps = subtract(self.view.host_span, self.own[self.lane == main])
        mine = gaps[self.names.of[self._before(gaps[:, 0])] == number]
        name = self.names.name(number)
        return Spender(name._replace(kind="gap"), "", ns, len(mine), {main: mine})


# ---- the device


class _DeviceTime:
    """What the busiest device runs, by what launched it; time in which several events run counts once."""

    def __init__(self, view: Selection) -> None:
        self.view = view
        self.rows = np.flatnonzero(view.device["device"].to_numpy() == view.devices[0])
        self.row, self.once = counted_once(view, self.rows)
        self.launch = view.device["launch"].to_numpy()[self.rows]
        linked = self.launch >= 0
        weights = np.maximum(self.once[:, 1] - self.once[:, 0], 0) * view.device_in_steps[self.rows]
        self.names = names(view, np.bincount(self.launch[linked], weights[linked], minlength=len(view.host)))
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

    def pieces(self, row: str, intervals: Intervals) -> pd.DataFrame:
        """As of the host."""
        ns = _inside(intervals, self.once)
        some = (ns > 0) & (self.row == row)
        return pd.DataFrame({"key": self.key[some], "inside": self.kernel[some], "ns": ns[some]})

    def spender(self, key: int, pieces: pd.DataFrame, ns: int) -> Spender:
        mine = self.rows[(self.key == key)]
        count = int(self.view.device_in_steps[mine].sum())
        if key < UNNAMED:
            return Spender(Name("kernel", self.kernels[-2 - key]), "", ns, count, device=mine)
        part = _mostly(pieces, ns)
        mostly = "" if part is None else self.kernels[int(part)]
        return Spender(self.names.name(key), mostly, ns, count, device=mine)


def _inside(intervals: Intervals, pieces: Intervals) -> np.ndarray:
    """How much of each piece lies inside the intervals, ns."""
    if not len(pieces):
        return np.zeros(0, np.int64)
    ends = np.maximum(pieces[:, 1], pieces[:, 0])
    return covered_before(intervals, ends) - covered_before(intervals, pieces[:, 0])
