"""What a rule's fix does to the recorded work, as edits of a replay.

remove: the events are gone, on the host and on the GPU. quicken: a setting makes all work there faster, that
which other fixes leave as well. shrink: the events take a part of their time. unblock: the host no longer
waits for them. retime: GPU events take another time. fuse: GPU work is launched at once instead of event by
event. release: an idle GPU runs at once what is queued. overlap: see `diagnose.predict.loading`.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pandas as pd

from diagnose.measure.first_calls import COPY_CALL
from diagnose.measure.ledger import BLOCKING_COPY_NS
from diagnose.measure.measured import Measured
from diagnose.measure.selection import Selection, Selector
from diagnose.measure.view import NO_INTERVALS, NO_ROWS, Intervals, Rows, started_in
from diagnose.measure.work import device_rows
from diagnose.predict.replay import Edit
from diagnose.predict.waits import CALL_NS
from diagnose.trace.distinct import distinct
from diagnose.trace.intervals import as_intervals, covered_before, intersect, subtract, union


@dataclass(frozen=True)
class Events:
    """What a rule points at:

    ``host`` spans by thread, ns, ``device`` rows, and ``calls``, host rows that launch or wait.
    """

    host: dict[int, Intervals]
    device: Rows
    calls: Rows
    # the host's time in calls that copy and do not return at once
    blocked: dict[int, Intervals] = field(default_factory=dict)


def shrunk(events: Events, ratio: float) -> list[Edit]:
    """To ``ratio`` of the time, on the host and on the GPU; at 0 nothing waits for it any more."""
    host = [Edit(host=spans, lane=lane, host_ratio=ratio) for lane, spans in events.host.items()]
    return [
        *host,
        Edit(events=events.device, event_ratio=ratio, unblocked=events.calls if ratio == 0 else NO_ROWS),
    ]


def unblocked(events: Events, ratio: float) -> list[Edit]:
    """The host goes on at once; the GPU events take ``ratio`` of their time (a
    copy from pinned memory is faster).
    """
    host = [Edit(host=spans, lane=lane) for lane, spans in events.blocked.items()]
    return [*host, Edit(events=events.device, event_ratio=ratio, unblocked=events.calls)]


def retimed(events: Events, ratio: np.ndarray | float) -> list[Edit]:
    return [Edit(events=events.device, event_ratio=ratio)]


def fused(events: Events, ratio: float) -> list[Edit]:
    """One launch for all: the host is done with it at once, the GPU takes ``ratio`` of the time."""
    host = [Edit(host=spans, lane=lane) for lane, spans in events.host.items()]
    return [*host, *(retimed(events, ratio) if ratio < 1 else [])]


def released(events: Events, ratio: float) -> list[Edit]:
    """The GPU holds up what is queued for ``ratio`` of the time."""
    return [Edit(held=events.device, held_ratio=ratio)]


EDITS: dict[str, Callable[[Events, Any], list[Edit]]] = {
    "remove": shrunk,
    "quicken": shrunk,
    "shrink": shrunk,
    "unblock": unblocked,
    "retime": retimed,
    "fuse": fused,
    "release": released,
}


def events_of(selector: Selector, measured: Measured) -> Events:
    """The events of a selector of the timeline, with what they launch and wait for."""
    view = measured.timeline
    assert view is not None
    rows, attributed = measured.rows(selector), measured.attributed(selector)
    if selector.table == "device":
        launches = view.device["launch"].to_numpy()[rows]
        launches = distinct(launches[launches >= 0])
        around = view.outermost_ops(launches)
        calls = distinct(launches, _calls_in(view, _spans(view, around)))
        return Events(_spans(view, launches), _everywhere(view, rows), calls, blocked_time(view, calls))
    spans = _spans(view, rows)
    calls = _calls_in(view, spans)
    main = view.trace.training_thread
    spans[main] = union(np.concatenate([spans.get(main, NO_INTERVALS), intersect(attributed, view.idle)]))
    device = distinct(
        device_rows(view, view.is_among(rows)), _mostly_in(view, subtract(attributed, view.idle))
    )
    return Events(spans, _everywhere(view, device), calls, blocked_time(view, calls))


def blocked_time(view: Selection, calls: Rows) -> dict[int, Intervals]:
    """By thread, the time inside copying calls that take long: the copy is staged, or waits
    for other work, before they return.
    """
    tid, start, dur = (view.host[column].to_numpy()[calls] for column in ("tid", "start_ns", "dur_ns"))
    long = (dur >= BLOCKING_COPY_NS) & view.name_matches(COPY_CALL)[calls]
    inside = as_intervals(start + CALL_NS, dur - CALL_NS)
    return {int(lane): union(inside[long & (tid == lane)]) for lane in np.unique(tid[long])}


def _everywhere(view: Selection, rows: Rows) -> Rows:
    """And the same work outside the complete steps, where all of a kind (by
    name and stream) inside them is meant.

    Where the host runs ahead, what the steps launch runs after they have ended.
    """
    if not len(rows):
        return rows
    kinds = view.device[["name", "stream", "device"]]
    code = pd.factorize(
        pd.MultiIndex.from_arrays([kinds["name"].cat.codes, kinds["stream"], kinds["device"]])
    )[0]
    inside = np.bincount(code[view.device_in_steps], minlength=code.max(initial=-1) + 1)
    meant = np.bincount(code[rows], minlength=len(inside))
    return distinct(rows, np.flatnonzero(((meant == inside) & (meant > 0))[code]))


def _spans(view: Selection, rows: Rows) -> dict[int, Intervals]:
    """The rows' own time, by thread."""
    tid, start, dur = (view.host[column].to_numpy()[rows] for column in ("tid", "start_ns", "dur_ns"))
    return {int(lane): union(as_intervals(start, dur)[tid == lane]) for lane in np.unique(tid)}


def _calls_in(view: Selection, spans: dict[int, Intervals]) -> Rows:
    """Runtime calls that start in the spans of their thread."""
    runtime = np.flatnonzero(view.kind == "runtime")
    tid = view.host["tid"].to_numpy()[runtime]
    found = [
        runtime[tid == lane][started_in(view.host.iloc[runtime[tid == lane]], inside)]
        for lane, inside in spans.items()
    ]
    return np.concatenate([NO_ROWS, *found])


def _mostly_in(view: Selection, intervals: Intervals) -> Rows:
    """Device rows of complete steps more than half of whose time lies in the intervals."""
    rows = np.flatnonzero(view.device_in_steps)
    start, dur = view.device["start_ns"].to_numpy()[rows], view.device["dur_ns"].to_numpy()[rows]
    covered = covered_before(intervals, start + dur) - covered_before(intervals, start)
    return rows[covered * 2 > dur]
