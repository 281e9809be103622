"""Host calls that wait for the GPU, and for which of its events."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from dataclasses import dataclass

import numpy as np

from diagnose.measure.device_steps import FULL_QUEUE
from diagnose.measure.ledger import QUEUE_FULL, dispatching_threads, is_sync_call
from diagnose.measure.selection import Selection
from diagnose.predict.device_lanes import DeviceLanes

CALL_NS = 5_000  # what a call that waits takes where there is nothing to wait for
# a wait that returns later than this after the GPU was done waited for something else too
RETURN_CAP_NS = 100_000
# a runtime call of this length that returns just when the GPU is drained has waited for it
LONG_CALL_NS = 50_000
DRAINED_NS = 50_000
WHOLE_DEVICE = r"^(cuda|hip)(Device|Ctx)Synchronize|^cuCtxSynchronize"


@dataclass(frozen=True)
class Wait:
    """A call (host row) that waits from its begin for the ends of ``events`` (device rows). ``own_ns``: what
    it takes by itself; ``return_ns``: from the last end to its return.
    """

    row: int
    begin_ns: int
    end_ns: int
    events: tuple[int, ...]
    own_ns: int
    return_ns: int


def waits_of(view: Selection, lanes: DeviceLanes, begin_ns: int, end_ns: int) -> list[Wait]:
    """The waits that begin in a span of time."""
    start, dur = view.host["start_ns"].to_numpy(), view.host["dur_ns"].to_numpy()
    named = is_sync_call(view)
    candidates = (
        (named | (dur >= LONG_CALL_NS)) & np.asarray(view.kind == "runtime") & dispatching_threads(view)
    )
    rows = np.flatnonzero(candidates & (start >= begin_ns) & (start < end_ns))
    if not len(rows) or not len(lanes.order):
        return []
    finder = _Targets(view, lanes)
    begin, end = start[rows].tolist(), (start + dur)[rows].tolist()
    found = map(finder.wait, rows.tolist(), begin, end, named[rows].tolist())
    return [wait for wait in found if wait is not None]


class _Targets:
    """Finds what a call waits for. Lists: for the few events that are looked at, arrays are slow."""

    def __init__(self, view: Selection, lanes: DeviceLanes) -> None:
        self._stream, self._device = lanes.stream.tolist(), lanes.device.tolist()
        self._end_ns, self._launched_ns = lanes.end_ns.tolist(), lanes.launched_ns.tolist()
        by_stream = [
            lanes.order[lanes.stream[lanes.order] == stream] for stream in np.unique(lanes.stream).tolist()
        ]
        self._by_stream: list[tuple[list[int], list[int]]] = [
            (np.maximum.accumulate(lanes.launched_ns[rows]).tolist(), rows.tolist()) for rows in by_stream
        ]
        by_launch, by_end = (np.argsort(column, kind="stable") for column in (lanes.launch, lanes.end_ns))
        self._by_launch, self._launch = by_launch.tolist(), lanes.launch[by_launch].tolist()
        self._by_end, self._ends = by_end.tolist(), lanes.end_ns[by_end].tolist()
        self._launches = sorted(self._launched_ns)
        self._whole = view.name_matches(WHOLE_DEVICE)
        self._full_ns = view.host["start_ns"].to_numpy()[view.name_matches(QUEUE_FULL)].tolist()
        self._recorded = _recorded_streams(view, lanes)

    def wait(self, row: int, begin_ns: int, end_ns: int, named: bool) -> Wait | None:
        last = self._last_launched(begin_ns)
        own = self._by_launch[bisect_left(self._launch, row) : bisect_right(self._launch, row)]
        if named and own:  # a copy that blocks; one that is staged returns before its end
            events = [event for event in own if self._end_ns[event] <= end_ns]
        elif self._whole[row]:
            device = self._device[self._latest(last)] if last else -1
            events = [event for event in last if self._device[event] == device]
        elif named:
            events = self._of_one_stream(row, last, begin_ns, end_ns)
        else:
            events = self._if_it_waited(last, begin_ns, end_ns)
        if not events:
            return None
        done = max(self._end_ns[event] for event in events)
        own_ns = min(end_ns - begin_ns, CALL_NS)
        if done <= begin_ns:  # nothing to wait for this time
            return Wait(row, begin_ns, end_ns, tuple(events), end_ns - begin_ns, own_ns)
        return_ns = min(max(end_ns - done, 0), RETURN_CAP_NS)
        return Wait(row, begin_ns, end_ns, tuple(events), own_ns, return_ns)

    def _last_launched(self, begin_ns: int) -> list[int]:
        """The last event of every stream launched before a moment."""
        positions = [bisect_right(launched, begin_ns) for launched, _ in self._by_stream]
        return [
            rows[position - 1]
            for (_, rows), position in zip(self._by_stream, positions, strict=True)
            if position
        ]

    def _latest(self, events: list[int]) -> int:
        """The one that was launched last."""
        return max(events, key=self._launched_ns.__getitem__)

    def _of_one_stream(self, row: int, last: list[int], begin_ns: int, end_ns: int) -> list[int]:
        """What a stream's or an event's synchronisation waits for: as recorded,
        else what ended just before the return.
        """
        if row in self._recorded:
            return [event for event in last if self._stream[event] == self._recorded[row]]
        waited = [event for event in last if begin_ns < self._end_ns[event] <= end_ns + CALL_NS]
        ended = bisect_right(self._ends, end_ns)
        latest_ns = self._ends[ended - 1] if ended else -1
        if waited:
            of_last = max(waited, key=self._end_ns.__getitem__)
            if self._end_ns[of_last] >= latest_ns - CALL_NS:
                return [of_last]
        if latest_ns > begin_ns:  # an event recorded before the stream's last work
            return [self._by_end[ended - 1]]
        return [self._latest(last)] if last else []

    def _if_it_waited(self, last: list[int], begin_ns: int, end_ns: int) -> list[int]:
        """Of a call that need not wait: all work if the GPU was drained just before the return, an
        event if the launch queue was full.
        """
        ended = bisect_right(self._ends, end_ns)
        pending = bisect_right(self._launches, begin_ns) - ended
        told_full = bisect_left(self._full_ns, begin_ns) < bisect_left(self._full_ns, end_ns)
        if (pending >= FULL_QUEUE or told_full) and ended:
            return [self._by_end[ended - 1]]
        latest_ns = max((self._end_ns[event] for event in last), default=0)
        drained = begin_ns + LONG_CALL_NS < latest_ns <= end_ns and end_ns - latest_ns < DRAINED_NS
        return last if drained else []


def _recorded_streams(view: Selection, lanes: DeviceLanes) -> dict[int, int]:
    """Call → the stream it waits for, where the profiler was told to record that."""
    waits = view.trace.waits
    recorded = waits[(waits["call"] >= 0).to_numpy()]
    stream = np.where(recorded["kind"] == "event sync", recorded["on_stream"], recorded["stream"])
    numbers = dict(
        zip(
            zip(view.device["device"], view.device["stream"], strict=True), lanes.stream.tolist(), strict=True
        )
    )
    known = zip(
        recorded["call"].tolist(), zip(recorded["device"].tolist(), stream.tolist(), strict=True), strict=True
    )
    return {call: numbers[where] for call, where in known if where in numbers}
