"""What GPU events waited for: the event before them on their stream, the call that
launched them, an event of another stream.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from diagnose.measure.device_steps import inherited_launches, streams
from diagnose.measure.first_calls import LOADING_LAUNCH_NS
from diagnose.measure.queued import held_ns
from diagnose.measure.selection import Selection
from diagnose.measure.view import Rows
from diagnose.predict.graph import Builder

# Above the delays that recorded traces show where nothing is in the way (docs/accuracy.md).
BECAUSE_NS = 10_000  # an event that starts this soon after another one's end may have waited for it;
# so may one that was held up long, a twentieth of that time after it
BECAUSE_SHARE, BECAUSE_MOST_NS = (0.05, 1_000_000)
QUEUED_NS = 10_000  # an event launched this long before its stream was free waited for the stream
# a start this long after the launch call was not held up by the launch: something unrecorded was in the way
LATENCY_CAP_NS = 100_000
USUAL_LATENCY_NS, USUAL_GAP_NS = 6_000, 1_500  # where a recording shows none


@dataclass(frozen=True)
class DeviceLanes:
    """The device events of a recording by the stream they run on.

    Columns have a value a row of the device table; ns, -1 is none.
    """

    start_ns: np.ndarray
    end_ns: np.ndarray
    stream: np.ndarray  # numbered over all devices
    device: np.ndarray
    # host row of the call that launched it; of an event without one that of the event before it on its stream
    launch: Rows
    launched_ns: np.ndarray  # when the host reached that call
    before: Rows  # the event before it on its stream
    order: Rows  # all rows by stream, then start
    position: np.ndarray  # of each row in that order

    def last_on_streams(self, launched_before_ns: float) -> dict[int, int]:
        """By stream the last event launched before a moment; those whose launch is unknown
        were launched before the recording.
        """
        rows = self.order[self.launched_ns[self.order] < launched_before_ns]
        return dict(zip(self.stream[rows].tolist(), rows.tolist(), strict=True))


def device_lanes(view: Selection) -> DeviceLanes:
    device, host_start = view.device, np.append(view.host["start_ns"].to_numpy(), -1)
    start = device["start_ns"].to_numpy()
    stream = streams(device)
    order = np.lexsort((start, stream))
    follows = np.diff(stream[order], prepend=-1) == 0
    before = np.full(len(device), -1)
    before[order[follows]] = order[np.flatnonzero(follows) - 1]
    launch = inherited_launches(device)
    return DeviceLanes(
        start_ns=start,
        end_ns=start + device["dur_ns"].to_numpy(),
        stream=stream,
        device=device["device"].to_numpy(),
        launch=launch,
        launched_ns=host_start[launch],
        before=before,
        order=order,
        position=np.argsort(order),
    )


class Border:
    """What steps have to do with work launched before them.

    ``rows``: the device rows launched in the steps.
    """

    def __init__(self, lanes: DeviceLanes, begin_ns: int, end_ns: int) -> None:
        self._lanes, self._end_ns = lanes, end_ns
        self._before, self._last = lanes.last_on_streams(begin_ns), lanes.last_on_streams(end_ns)
        self.rows = lanes.order[
            (lanes.launched_ns[lanes.order] >= begin_ns) & (lanes.launched_ns[lanes.order] < end_ns)
        ]
        self._inside = np.zeros(len(lanes.order), bool)
        self._inside[self.rows] = True
        self._seen: dict[int, int] = {}

    def like(self, event: int) -> int:
        """A row launched in the steps itself; of an earlier one the row with its place at the steps'
        end, counted from its stream's last.

        -1 if there is none.
        """
        if self._inside[event]:
            return event
        if self._lanes.launched_ns[event] >= self._end_ns:
            return -1
        if event not in self._seen:
            self._seen[event] = self._at_the_end(event)
        return self._seen[event]

    def _at_the_end(self, event: int) -> int:
        lanes, stream = self._lanes, int(self._lanes.stream[event])
        if stream not in self._before:
            return -1
        like = int(
            lanes.order[
                lanes.position[self._last[stream]]
                - (lanes.position[self._before[stream]] - lanes.position[event])
            ]
        )
        return like if lanes.stream[like] == stream and self._inside[like] else -1

    def left(self) -> dict[int, float]:
        """Rows at the end of the steps → when their likes of the round before had ended, ns."""
        lanes = self._lanes
        for event in self._before.values():
            self.like(event)
        left = {like: float(lanes.end_ns[event]) for event, like in self._seen.items() if like >= 0}
        # what its stream did before the recording is not known: it was free when this began
        first = self.rows[lanes.before[self.rows] < 0]
        return left | {
            self._last[int(lanes.stream[row])]: float(lanes.start_ns[row] - USUAL_GAP_NS)
            for row in first.tolist()
        }


def add_events(
    builder: Builder, view: Selection, lanes: DeviceLanes, border: Border, points: dict[int, int]
) -> np.ndarray:
    """Nodes for the ends of the events launched in the steps, with all that each waited for;
    a node a device row, -1 where none.

    ``points``: launch call → its node.
    """
    rows = border.rows
    nodes = np.full(len(lanes.start_ns), -1)
    nodes[rows] = builder.nodes(lanes.end_ns[rows])
    before = lanes.before[rows]
    freed = np.where(before >= 0, lanes.end_ns[before], -1)
    call_ns = view.host["dur_ns"].to_numpy()[lanes.launch[rows]]
    held = held_ns(view)[rows]  # whatever else changes, the idle device waits so long
    ready = lanes.start_ns[rows] - held
    latency, gap = ready - lanes.launched_ns[rows], np.where(freed >= 0, ready - freed, 0)
    queued = (before >= 0) & (
        (freed > lanes.launched_ns[rows] + QUEUED_NS) | (gap < np.minimum(latency - call_ns, BECAUSE_NS))
    )
    other = _of_other_stream(lanes, rows, ready, np.where(queued, gap, latency - call_ns))
    other = np.where([event >= 0 and border.like(event) >= 0 for event in other.tolist()], other, -1)
    waited = np.flatnonzero(other >= 0)
    usual_latency = _median(latency[~queued & (other < 0)], USUAL_LATENCY_NS)
    usual_gap = _median(gap[queued & (other < 0)], USUAL_GAP_NS)
    # What did not hold an event up takes as long as it usually does.
    held_by_launch, held_by_stream = ~queued & (other < 0), queued & (other < 0)
    launch_delay = np.minimum(latency, np.where(held_by_launch, call_ns + LATENCY_CAP_NS, usual_latency))
    stream_delay = np.clip(gap, 0, np.where(held_by_stream, LATENCY_CAP_NS, usual_gap))

    point = np.array([points.get(call, -1) for call in lanes.launch[rows].tolist()], np.int64)
    known = point >= 0
    # A call that loads the kernel first holds it up itself; without that it would take what calls usually do.
    loads = known & held_by_launch & (call_ns >= LOADING_LAUNCH_NS)
    wait = np.where(loads, lanes.launch[rows], -1)
    builder.edges(
        point[known],
        nodes[rows[known]],
        const_ns=launch_delay[known],
        held_ns=held[known],
        event=rows[known],
        wait=wait[known],
    )
    builder.edges(
        point[loads], nodes[rows[loads]], const_ns=usual_latency, held_ns=held[loads], event=rows[loads]
    )
    for waiting, sources, delay in (
        (np.flatnonzero(before >= 0), before, stream_delay),
        (waited, other, ready - lanes.end_ns[other]),
    ):
        like = np.array([border.like(event) for event in sources[waiting].tolist()], np.int64)
        found, like = waiting[like >= 0], like[like >= 0]
        builder.edges(
            nodes[like],
            nodes[rows[found]],
            const_ns=delay[found],
            held_ns=held[found],
            event=rows[found],
            carried=like != sources[found],
        )
    _add_first_of_streams(builder, lanes, rows, nodes)
    return nodes


def _add_first_of_streams(builder: Builder, lanes: DeviceLanes, rows: Rows, nodes: np.ndarray) -> None:
    """The first event of a stream that has no earlier one in the recording follows the last
    one of the round before all the same.
    """
    for first in rows[lanes.before[rows] < 0].tolist():
        mine = rows[lanes.stream[rows] == lanes.stream[first]]
        builder.edges([nodes[mine[-1]]], [nodes[first]], const_ns=USUAL_GAP_NS, event=first, carried=True)


def _of_other_stream(lanes: DeviceLanes, rows: Rows, ready_ns: np.ndarray, held_up_ns: np.ndarray) -> Rows:
    """For each row that was held up the event of another stream of its device that ended
    just before it was ready to start; -1 if none did.
    """
    by_end = np.argsort(lanes.end_ns, kind="stable")
    ends = lanes.end_ns[by_end]
    found = np.full(len(rows), -1)
    for position in np.flatnonzero(held_up_ns > BECAUSE_NS).tolist():
        row = rows[position]
        soon = min(max(BECAUSE_NS, BECAUSE_SHARE * held_up_ns[position]), BECAUSE_MOST_NS)
        last, first = (
            int(np.searchsorted(ends, ready_ns[position] - since, side="right")) for since in (0, soon)
        )
        near = by_end[first:last]
        near = near[(lanes.device[near] == lanes.device[row]) & (lanes.stream[near] != lanes.stream[row])]
        # a stream can only be told to wait for work that is there
        near = near[lanes.launched_ns[near] <= lanes.launched_ns[row]]
        if len(near):
            found[position] = near[-1]
    return found


def _median(values: np.ndarray, otherwise: float) -> float:
    return float(np.median(values)) if len(values) else otherwise
