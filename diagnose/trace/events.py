"""Decoded events to columns of host rows, device rows and memory rows: events are
looked at a batch at a time and let go.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from diagnose.trace.clock import INVALID, nanoseconds
from diagnose.trace.collectives import Told, told
from diagnose.trace.columns import Codes, Computed, Parts, at_rows, integers
from diagnose.trace.decode import NO_TEXT, Args, Event
from diagnose.trace.nesting import order
from diagnose.trace.quirks import (
    CPU_TYPE,
    DEVICE_KINDS,
    HOST_KINDS,
    MEMORY_EVENT,
    MTIA_COPIES,
    MTIA_WAITS,
    SYNC_CATEGORY,
    XPU_SYNC,
)
from diagnose.trace.writers import Others

Rows = NDArray[np.int64]
HOST_KIND_NAMES = ["op", "runtime", "annotation", "mark", "python", "overhead"]
DEVICE_KIND_NAMES = ["kernel", "memcpy", "memset"]
OP, RUNTIME, ANNOTATION, MARK, PYTHON = range(5)
KERNEL, MEMCPY = range(2)
NO_ARGS = Args()
OTHER_PHASES = ("M", "B")  # metadata; begin events
# of these memory is read. The other phases, mostly the arrows that link events, are passed over.
INSTANT = "i"


class Lanes:
    """Where the events of a file go: host rows, device rows, memory rows, waits, and what is none of
    these.
    """

    def __init__(self) -> None:
        self.count = 0
        self.host = HostColumns()
        self.device = DeviceColumns()
        self.memory = MemoryColumns()
        self.waits: list[Event] = []
        self.others = Others()
        self._batch: tuple[list[Event], list[Event], list[Event], list[Event]] = [], [], [], []
        self._lane = Computed(self._lane_of)
        self._other = Computed(self._other_of)

    @property
    def nbytes(self) -> int:
        host, device = self.host, self.device
        columns = (host.parts, device.parts, self.memory.parts)
        texts: tuple[Codes[Any], ...] = (host.names, host.stacks, host.shapes, host.dtypes, device.names)
        return sum(part.nbytes for part in columns) + sum(codes.nbytes for codes in texts)

    def add(self, events: Sequence[Event]) -> None:
        """The next batch of events, in the file's order."""
        host, device, others, instants = self._batch
        lane, other = self._lane, self._other
        for event in events:
            (lane[event.cat] if event.ph == "X" else other[event.ph]).append(event)
        self.count += len(events)
        self.host.add(host)
        self.device.add([event for event in device if event.name not in MTIA_WAITS])
        self.others.add(others)
        if instants:
            self.memory.add([event for event in instants if event.name == MEMORY_EVENT])
        for part in self._batch:
            part.clear()

    def _lane_of(self, category: str | None) -> list[Event]:
        host, device, others, _ = self._batch
        self.others.categories.add(category or "")
        key = (category or "").lower()
        if category == SYNC_CATEGORY:
            return self.waits
        return host if key in HOST_KINDS else device if key in DEVICE_KINDS else others

    def _other_of(self, phase: str | None) -> list[Event] | deque[Event]:
        *_, others, instants = self._batch
        return instants if phase == INSTANT else others if phase in OTHER_PHASES else deque(maxlen=0)


class HostColumns:
    """What the HOST table is made of, in the file's order. Codes number distinct values."""

    def __init__(self) -> None:
        self.count = 0
        self.parts = Parts()
        self.names: Codes[str | None] = Codes()
        self.threads: Codes[tuple[Any, Any]] = Codes()
        self.stacks: Codes[str | None] = Codes({None: 0})
        self.shapes: Codes[bytes] = Codes({b"": 0})
        self.dtypes: Codes[bytes] = Codes({b"": 0})
        self._kind = Computed(lambda category: HOST_KIND_NAMES.index(HOST_KINDS[category.lower()]))

    def add(self, events: Sequence[Event]) -> None:
        count = len(events)
        self.count += count
        kind = np.fromiter(map(self._kind.__getitem__, [event.cat for event in events]), np.int8, count)
        ranges, calls = np.flatnonzero((kind == OP) | (kind == ANNOTATION)), np.flatnonzero(kind == RUNTIME)
        both = np.concatenate((ranges, calls))
        of_range = [events[row].args or NO_ARGS for row in ranges.tolist()]
        of_call = [events[row].args or NO_ARGS for row in calls.tolist()]
        pids = [event.pid for event in events]
        if XPU_SYNC in self._kind:
            pids = [None if event.cat == XPU_SYNC else pid for event, pid in zip(events, pids, strict=True)]
        dims = [one.dims_old if one.dims is NO_TEXT else one.dims for one in of_range]
        self.parts.add(
            **_times(events),
            kind=kind,
            name=self.names.of([event.name for event in events], count),
            thread=self.threads.of(zip(pids, [event.tid for event in events], strict=True), count),
            correlation=at_rows(calls, integers([one.correlation for one in of_call]), count),
            external=at_rows(both, external_ids([*of_range, *of_call]), count),
            sequence=at_rows(ranges, integers([one.sequence for one in of_range]), count),
            shapes=at_rows(ranges, self.shapes.of(map(bytes, dims), len(dims)), count, 0),
            dtypes=at_rows(
                ranges, self.dtypes.of([bytes(one.types) for one in of_range], len(of_range)), count, 0
            ),
            stack=at_rows(
                ranges, self.stacks.of([one.call_stack for one in of_range], len(of_range)), count, 0
            ),
            unfinished=at_rows(
                ranges, np.array([one.finished is False for one in of_range], dtype=bool), count, 0
            ),
        )


class DeviceColumns:
    """What the DEVICE table is made of, in the file's order."""

    def __init__(self) -> None:
        self.count = 0
        self.parts = Parts()
        self.names: Codes[str | None] = Codes()
        self.copies: Codes[tuple[Any, Any, Any]] = Codes()  # name, ``kind``, ``direction``
        self.collectives: Codes[Told] = Codes()
        self.tracks: set[tuple[int, int, Any, Any]] = set()  # device, stream; pid and tid as recorded
        self._kind = Computed(lambda category: DEVICE_KIND_NAMES.index(DEVICE_KINDS[category.lower()]))

    def add(self, events: Sequence[Event]) -> None:
        count = len(events)
        self.count += count
        args = [event.args or NO_ARGS for event in events]
        name = self.names.of([event.name for event in events], count)
        kind = np.fromiter(map(self._kind.__getitem__, [event.cat for event in events]), np.int8, count)
        kind[np.isin(name, [self.names.get(one, -1) for one in MTIA_COPIES])] = MEMCPY
        copies = np.flatnonzero(kind == MEMCPY)
        told = [(events[row].name, args[row].kind, args[row].direction) for row in copies.tolist()]
        pids, tids = [event.pid for event in events], [event.tid for event in events]
        device, stream = (
            _known([arg.device for arg in args], lambda: pids),
            _known([arg.stream for arg in args], lambda: tids),
        )
        self.tracks.update(zip(device.tolist(), stream.tolist(), pids, tids, strict=True))
        self.parts.add(
            **_times(events),
            kind=kind,
            name=name,
            device=device,
            stream=stream,
            correlation=integers([arg.correlation for arg in args]),
            external=external_ids(args),
            bytes=_known([arg.bytes for arg in args], lambda: [arg.size for arg in args]),
            copy=at_rows(copies, self.copies.of(told, len(told)), count),
            collective=self._collectives(args),
        )

    def _collectives(self, args: Sequence[Args]) -> NDArray[Any]:
        """What is told of each event as a collective, as a number; -1 for most events, which are none."""
        rows = np.array([row for row, arg in enumerate(args) if arg.collective is not None], dtype=np.int64)
        return at_rows(
            rows, self.collectives.of([told(args[row]) for row in rows.tolist()], len(rows)), len(args)
        )


class MemoryColumns:
    """What the MEMORY table is made of, in the file's order."""

    def __init__(self) -> None:
        self.parts = Parts()
        self.add([])  # most traces have none

    def add(self, events: Sequence[Event]) -> None:
        args = [event.args or NO_ARGS for event in events]
        is_cpu = integers([arg.device_type for arg in args]) == CPU_TYPE
        device, allocated, reserved = (
            np.maximum(integers(column), -1)
            for column in (
                [arg.device_id for arg in args],
                [arg.allocated for arg in args],
                [arg.reserved for arg in args],
            )
        )
        self.parts.add(
            start=nanoseconds([event.ts for event in events]),
            dur=np.zeros(len(events), dtype=np.int8),  # of an instant
            device=np.where(is_cpu, -1, device),
            change=integers([arg.change for arg in args]),
            allocated=allocated,
            reserved=reserved,
        )


def external_ids(args: Sequence[Args]) -> Rows:
    """The number that joins an op with what it caused, -1 if none."""
    return _known([arg.external_id for arg in args], lambda: [arg.external_id_old for arg in args])


def _known(values: Sequence[object], others: Callable[[], Sequence[object]]) -> Rows:
    """The values as integers; those of ``others`` where there is none."""
    first = integers(values)
    unknown = first < 0
    return np.where(unknown, integers(others()), first) if unknown.any() else first


def _times(events: Sequence[Event]) -> dict[str, Rows]:
    return {
        "start": nanoseconds([event.ts for event in events]),
        "dur": nanoseconds([event.dur for event in events], absent=0),
    }


class Lane:
    """The events of the host, of the devices or of memory, sorted by start (ties: longer first),
    those without a usable time left out.
    """

    def __init__(self, parts: Parts) -> None:
        start, dur = parts.column("start"), parts.column("dur")
        by_start = order(start, dur)
        self._parts = parts
        # the place of each event among those of the lane in the file
        self.in_file = by_start[(start[by_start] != INVALID) & (dur[by_start] >= 0)]
        self.start, self.dur = start[self.in_file], dur[self.in_file]  # ns on the trace's own clock
        self.dropped = len(start) - len(self.in_file)

    def __len__(self) -> int:
        return len(self.in_file)

    def leave_out_before(self, time_ns: int) -> None:
        """Those that begin before have no usable time."""
        count = int(np.searchsorted(self.start, time_ns))
        self.in_file, self.start, self.dur = self.in_file[count:], self.start[count:], self.dur[count:]
        self.dropped += count

    def take(self, name: str) -> NDArray[Any]:
        """A column; to be asked for once."""
        return self._parts.column(name)[self.in_file]


def looked_up(wanted: Rows, keys: Rows, rows: Rows) -> Rows:
    """``rows[i]`` of the first ``keys[i]`` equal to each wanted value; -1 where
    there is none or the value is negative.
    """
    if len(keys) == 0 or len(wanted) == 0:
        return np.full(len(wanted), -1, dtype=np.int64)
    by_key = np.argsort(keys, kind="stable")
    at = np.minimum(np.searchsorted(keys[by_key], wanted), len(keys) - 1)
    found = by_key[at]
    return np.where((wanted >= 0) & (keys[found] == wanted), rows[found], -1)
