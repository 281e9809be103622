"""Host calls that wait for the GPU, and for which of its events."""

from __future__ import annotations

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
    found = [
        finder.wait(int(row), int(start[row]), int(start[row] + dur[row]), bool(named[row])) for row in rows
    ]
    return [wait for wait in found if wait is not None]


class _Targets:
    """Finds what a call waits for."""

    def __init__(self, view: Selection, lanes: DeviceLanes) -> None:
        self._lanes = lanes
        self._by_stream = {
            int(stream): lanes.order[lanes.stream[lanes.order] == stream]
            for stream in np.unique(lanes.stream)
        }
        self._launched = {
            stream: np.maximum.accumulate(lanes.launched_ns[rows]) for stream, rows in self._by_stream.items()
        }
        self._by_launch = np.argsort(lanes.launch, kind="stable")
        self._by_end = np.argsort(lanes.end_ns, kind="stable")
        self._ends, self._launches = lanes.end_ns[self._by_end], np.sort(lanes.launched_ns)
        self._whole = view.name_matches(WHOLE_DEVICE)
        self._full_ns = view.host["start_ns"].to_numpy()[view.name_matches(QUEUE_FULL)]
        self._recorded = _recorded_streams(view, lanes)

    def wait(self, row: int, begin_ns: int, end_ns: int, named: bool) -> Wait | None:
        lanes = self._lanes
        last = self._last_launched(begin_ns)
        own = self._by_launch[slice(*np.searchsorted(lanes.launch[self._by_launch], [row, row + 1]))]
        if named and len(own):  # a copy that blocks
            events = own
            events = events[lanes.end_ns[events] <= end_ns]  # one that is staged returns before its end
        elif self._whole[row]:
            events = (
                last[lanes.device[last] == lanes.device[last[np.argmax(lanes.launched_ns[last])]]]
                if len(last)
                else last
            )
        elif named:
            events = self._of_one_stream(row, last, begin_ns, end_ns)
        else:
            events = self._if_it_waited(last, begin_ns, end_ns)
        return _wait(row, begin_ns, end_ns, events, lanes) if len(events) else None

    def _last_launched(self, begin_ns: int) -> np.ndarray:
        """The last event of every stream launched before a moment."""
        found = []
        for stream, rows in self._by_stream.items():
            position = int(np.searchsorted(self._launched[stream], begin_ns, side="right")) - 1
            if position >= 0:
                found.append(int(rows[position]))
        return np.array(found, np.int64)

    def _of_one_stream(self, row: int, last: np.ndarray, begin_ns: int, end_ns: int) -> np.ndarray:
        """What a stream's or an event's synchronisation waits for: as recorded,
        else what ended just before the return.
        """
        ends = self._lanes.end_ns[last]
        if row in self._recorded:
            return last[self._lanes.stream[last] == self._recorded[row]]
        waited = last[(ends > begin_ns) & (ends <= end_ns + CALL_NS)]
        ended = int(np.searchsorted(self._ends, end_ns, side="right")) - 1
        latest = self._ends[ended] if ended >= 0 else -1
        if len(waited) and self._lanes.end_ns[waited].max() >= latest - CALL_NS:
            return waited[[np.argmax(self._lanes.end_ns[waited])]]
        if latest > begin_ns:  # an event recorded before the stream's last work
            return self._by_end[[ended]]
        return last[[np.argmax(self._lanes.launched_ns[last])]] if len(last) else last

    def _if_it_waited(self, last: np.ndarray, begin_ns: int, end_ns: int) -> np.ndarray:
        """Of a call that need not wait: all work if the GPU was drained just before the return, an
        event if the launch queue was full.
        """
        lanes = self._lanes
        ended = int(np.searchsorted(self._ends, end_ns, side="right"))
        pending = int(np.searchsorted(self._launches, begin_ns, side="right")) - ended
        told_full = np.searchsorted(self._full_ns, begin_ns) < np.searchsorted(self._full_ns, end_ns)
        if (pending >= FULL_QUEUE or told_full) and ended:
            return self._by_end[[ended - 1]]
        latest = lanes.end_ns[last].max(initial=0)
        drained = len(last) and begin_ns + LONG_CALL_NS < latest <= end_ns and end_ns - latest < DRAINED_NS
        return last if drained else last[:0]


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


def _wait(row: int, begin_ns: int, end_ns: int, events: np.ndarray, lanes: DeviceLanes) -> Wait:
    done = int(lanes.end_ns[events].max())
    if done <= begin_ns:  # nothing to wait for this time
        return Wait(
            row, begin_ns, end_ns, tuple(events.tolist()), end_ns - begin_ns, min(end_ns - begin_ns, CALL_NS)
        )
    own = min(end_ns - begin_ns, CALL_NS)
    return Wait(row, begin_ns, end_ns, tuple(events.tolist()), own, min(max(end_ns - done, 0), RETURN_CAP_NS))
