"""What host threads did: their work between calls that launch or wait, and how backward hands
over to autograd's threads and back.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from diagnose.measure.ledger import dispatching_threads
from diagnose.measure.selection import Selection
from diagnose.measure.view import Intervals
from diagnose.predict.device_lanes import DeviceLanes
from diagnose.predict.graph import Builder
from diagnose.predict.waits import Wait
from diagnose.trace.columns import among
from diagnose.trace.distinct import distinct
from diagnose.trace.intervals import as_intervals, clip, subtract

# when, ns; what: begin, call, return, opens, closes or end; the call's host row, the gap's number, or -1
Moment = tuple[int, str, int]
ROUNDED_NS = 2_000  # old traces round both ends to µs


@dataclass(frozen=True)
class Block:
    """Work of one thread from begin to end, ns.

    ``gap``: of the training thread, which waits for it; -1: it does not.
    """

    lane: int
    begin_ns: int
    end_ns: int
    gap: int = -1


@dataclass
class HostNodes:
    """Nodes of the host: of launches by host row, of the returns from waits, of
    the begin and the end of the steps.
    """

    begin: int = -1
    end: int = -1
    launches: dict[int, int] = field(default_factory=dict)
    returns: list[tuple[Wait, int]] = field(default_factory=list)
    gaps: dict[int, tuple[int, int]] = field(default_factory=dict)


def add_host(
    builder: Builder, view: Selection, lanes: DeviceLanes, waits: list[Wait], begin_ns: int, end_ns: int
) -> HostNodes:
    """Adds the threads that launch work, and the training thread, from begin to end of the steps."""
    start, tid = view.host["start_ns"].to_numpy(), view.host["tid"].to_numpy()
    launches = distinct(lanes.launch[lanes.launch >= 0])
    calls = distinct(launches, np.array([wait.row for wait in waits], np.int64))
    calls = calls[(start[calls] >= begin_ns) & (start[calls] < end_ns)]
    main, busy = view.trace.training_thread, _busy(view, begin_ns, end_ns)
    gaps = subtract(np.array([[begin_ns, end_ns]]), busy.pop(main))
    blocks = [block for lane in busy for block in _blocks(lane, busy[lane], gaps, view)]
    by_row = {wait.row: wait for wait in waits}
    nodes = HostNodes()
    for block in [Block(main, begin_ns, end_ns), *blocks]:
        mine = calls[
            (tid[calls] == block.lane) & (start[calls] >= block.begin_ns) & (start[calls] < block.end_ns)
        ]
        waited = sorted({block.gap for block in blocks if block.gap >= 0}) if block.lane == main else []
        first, last = _chain(
            builder, block, mine.tolist(), start, by_row, {gap: gaps[gap] for gap in waited}, nodes
        )
        if block.lane == main:
            nodes.begin, nodes.end = first, last
        elif block.gap >= 0:
            opens, closes = nodes.gaps[block.gap]
            builder.edges([opens], [first], lane=main, from_ns=int(gaps[block.gap, 0]), to_ns=block.begin_ns)
            builder.edges([last], [closes], lane=main, from_ns=block.end_ns, to_ns=int(gaps[block.gap, 1]))
        else:
            builder.edges([nodes.begin], [first], const_ns=float(block.begin_ns - begin_ns))
    return nodes


def _busy(view: Selection, begin_ns: int, end_ns: int) -> dict[int, Intervals]:
    """By thread, while operators or runtime calls run, ns: of the training
    thread and of those that launch work.

    Where autograd's thread computes the gradients, the training thread waits for it, though it
    may do those of CPU tensors meanwhile.
    """
    start, dur, tid, backward = (
        view.host[column].to_numpy() for column in ("start_ns", "dur_ns", "tid", "backward")
    )
    on_main = tid == view.trace.training_thread
    waiting = on_main & backward & bool((backward & ~on_main).any())
    working = among(view.kind, ("op", "runtime")) & dispatching_threads(view) & ~waiting
    rows = np.flatnonzero(working & (start < end_ns) & (start + dur > begin_ns))
    threads = np.unique(np.append(tid[rows], view.trace.training_thread)).tolist()
    spans = as_intervals(start[rows], dur[rows])
    return {lane: clip(spans[tid[rows] == lane], begin_ns, end_ns) for lane in threads}


def _blocks(lane: int, busy: Intervals, gaps: Intervals, view: Selection) -> list[Block]:
    """The work of a thread: of autograd's, a block for every gap of the training thread that it
    fills; else one, for which nobody waits.
    """
    if not len(busy):
        return []
    computes_gradients = view.host["backward"].to_numpy()[view.host["tid"].to_numpy() == lane].any()
    gap = np.searchsorted(gaps[:, 0] - ROUNDED_NS, busy[:, 0], side="right") - 1
    fills = (
        (gap >= 0) & (busy[:, 1] <= gaps[np.maximum(gap, 0), 1] + ROUNDED_NS)
        if len(gaps)
        else np.zeros(len(busy), bool)
    )
    if not computes_gradients or not fills.all():
        return [Block(lane, int(busy[0, 0]), int(busy[-1, 1]))]
    borders = np.flatnonzero(np.diff(gap)) + 1
    numbers = gap[np.append(0, borders)].tolist()
    return [
        Block(lane, int(part[0, 0]), int(part[-1, 1]), gap)
        for part, gap in zip(np.split(busy, borders), numbers, strict=True)
    ]


def _chain(
    builder: Builder,
    block: Block,
    calls: list[int],
    start: np.ndarray,
    waits: dict[int, Wait],
    gaps: dict[int, np.ndarray],
    nodes: HostNodes,
) -> tuple[int, int]:
    """A block as nodes, one after another, with the work between them; returns the first and the last."""
    moments, within = _moments(block, calls, start, waits, gaps)
    times = np.array([time for time, _, _ in moments])
    numbers = builder.nodes(times).tolist()
    begins, ends = times[:-1].copy(), times[1:].copy()
    for position, (_, kind, item) in enumerate(moments):
        if kind == "call":
            nodes.launches[item] = numbers[position]
        elif kind == "return":
            nodes.returns.append((waits[item], numbers[position]))
            ends[position - 1] = begins[position - 1] + waits[item].own_ns
        elif kind == "opens":  # it works for nobody until the gap closes
            nodes.gaps[item] = (numbers[position], numbers[position + 1])
            begins[position] = ends[position]
    nodes.launches |= {call: nodes.launches[outer] for call, outer in within.items()}
    builder.edges(numbers[:-1], numbers[1:], lane=block.lane, from_ns=begins, to_ns=ends)
    return numbers[0], numbers[-1]


def _moments(
    block: Block, calls: list[int], start: np.ndarray, waits: dict[int, Wait], gaps: dict[int, np.ndarray]
) -> tuple[list[Moment], dict[int, int]]:
    """The moments of a block in order; and the calls made from inside one that waits, with that
    one: they have no moment of their own.
    """
    moments: list[Moment] = []
    until, around = block.begin_ns, -1
    within: dict[int, int] = {}
    for call in calls:
        if start[call] < until:
            within[call] = around
            continue
        moments.append((int(start[call]), "call", call))
        if call in waits:
            until, around = waits[call].end_ns, call
            moments.append((until, "return", call))
    for gap, (opens, closes) in gaps.items():
        moments += [(int(opens), "opens", gap), (int(closes), "closes", gap)]
    moments.sort(key=lambda moment: moment[0])
    # A wait may end behind the steps; the block's own end is the last moment all the same.
    return [(block.begin_ns, "begin", -1), *moments, (max(block.end_ns, until), "end", -1)], within
