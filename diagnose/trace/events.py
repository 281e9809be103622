"""Decoded events sorted into host rows and device rows, with times in integer nanoseconds."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from diagnose.trace.clock import INVALID, nanoseconds
from diagnose.trace.decode import Args, Event
from diagnose.trace.nesting import order
from diagnose.trace.quirks import DEVICE_KINDS, HOST_KINDS, MTIA_WAITS

Rows = NDArray[np.int64]
NO_ARGS = Args()


class Lane(NamedTuple):
    """The events of the host or of the devices, sorted by start (ties: longer first): ns on the trace's own clock."""

    events: list[Event]
    args: list[Args]
    kinds: list[str]
    start: Rows
    dur: Rows
    dropped: int  # events without a usable time


def split(events: Iterable[Event]) -> tuple[list[Event], list[Event]]:
    """The events that become host rows and those that become device rows, in file order."""
    host: list[Event] = []
    device: list[Event] = []
    lanes: dict[str | None, list[Event] | None] = {}
    for event in events:
        if event.ph != "X":
            continue
        cat = event.cat
        if cat not in lanes:
            key = (cat or "").lower()
            lanes[cat] = host if key in HOST_KINDS else device if key in DEVICE_KINDS else None
        lane = lanes[cat]
        if lane is not None:
            lane.append(event)
    return host, [event for event in device if event.name not in MTIA_WAITS]


def lane(events: Sequence[Event], kinds: dict[str, str]) -> Lane:
    """The events in order of time, those without a usable time left out; ``kinds`` maps lower-case categories."""
    start = nanoseconds([event.ts for event in events])
    dur = nanoseconds([0.0 if event.dur is None else event.dur for event in events])
    by_start = order(start, dur)
    usable = by_start[(start[by_start] != INVALID) & (dur[by_start] >= 0)]
    kept = [events[i] for i in usable.tolist()]
    kind_of = {cat: kinds[(cat or "").lower()] for cat in {event.cat for event in kept}}
    return Lane(
        kept,
        [event.args or NO_ARGS for event in kept],
        [kind_of[event.cat] for event in kept],
        start[usable],
        dur[usable],
        len(events) - len(kept),
    )


def shifted(lane: Lane, origin: int) -> Lane:
    """The lane with times counted from ``origin``."""
    return lane._replace(start=lane.start - origin)
