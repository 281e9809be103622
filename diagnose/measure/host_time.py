"""A step's time on the host: what the threads do that train or launch, by the innermost event."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from diagnose.measure.blocks import blocks, sum_of_each
from diagnose.measure.innermost import own_pieces
from diagnose.measure.ledger import dispatching_threads
from diagnose.measure.names import Names, Naming, step_ranges
from diagnose.measure.selection import Selection
from diagnose.measure.spenders import UNNAMED, Pieces, Spender, most_inside, ns_inside, numbers_at
from diagnose.measure.view import NO_INTERVALS, NO_ROWS, Intervals, Rows, once
from diagnose.trace.intervals import subtract, union
from diagnose.trace.nesting import nearest


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
        return self.owner[touched], ns_inside(intervals, self.own[touched])


_NO_THREAD = _Thread(NO_ROWS, NO_INTERVALS)


def _threads(view: Selection, around: Rows, counts: np.ndarray) -> dict[int, _Thread]:
    """Of the events that count, by the thread's number; one after the other, for memory's sake."""
    tid = view.host["tid"].to_numpy()
    return {
        thread: _Thread.of(view, around, counts, np.flatnonzero(counts & (tid == thread)).astype(np.int32))
        for thread in np.unique(tid[counts]).tolist()
    }


class HostTime:
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
            weight_ns += sum_of_each(thread.owner, ns_inside(view.host_span, thread.own), len(view.host))
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
        return Pieces(numbers_at(events, self.names.of), numbers_at(events, self.inside[0]), ns)

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
        last = numbers_at(at, self.main.owner)
        return numbers_at(last, self.names.of)

    def _following(self, intervals: Intervals) -> Rows:
        """The call that launches what the busiest device runs after each time; -1 where there is none."""
        view = self.view
        if not view.has_device:
            return np.full(len(intervals), -1)
        here = np.flatnonzero(view.device["device"].to_numpy() == view.devices[0])
        following = np.searchsorted(view.device["start_ns"].to_numpy()[here], intervals[:, 1])
        return numbers_at(following, view.device["launch"].to_numpy()[here])

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
        part = most_inside(pieces, ns)
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
def host_time(view: Selection) -> HostTime:
    return HostTime(view, Naming(view))
