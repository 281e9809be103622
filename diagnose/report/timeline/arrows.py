"""Arrows to the recorded events: from a finding to the event it blames, from what
held the GPU back to what it did next.

A viewer binds an arrow's end to the innermost slice that is open at its moment, so
ends lie a little inside their slices.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from diagnose.measure.ledger import DEVICE_ROWS, READ_MARKS, dispatching_threads
from diagnose.measure.selection import Selection
from diagnose.measure.view import NO_INTERVALS, Intervals, Rows
from diagnose.trace.intervals import intersect, union
from diagnose.trace.schema import Track

MOST = 200  # arrows of a finding, and of the gaps: more only hide what they point at
# as far as times since 1970 in µs, as torch 2.2 writes them, are apart at least
# for viewers that read them as doubles
INSIDE_NS = 250
HELD_SHARE = 0.5  # of a gap, through which an event has to run to have held the GPU back
UNHELD_ROWS = (*DEVICE_ROWS, "python", "unattributed")  # no event of the host explains these


class End(NamedTuple):
    """A moment (ns, as in the tables) on a track of the file."""

    track: Track
    ns: int


class Arrow(NamedTuple):
    """``start`` is never after ``end``."""

    start: End
    end: End


class _Events(NamedTuple):
    """Events by start: begin and end in ns, the latest end so far, and the row of the table each is."""

    start: np.ndarray
    end: np.ndarray
    reach: np.ndarray
    rows: Rows


def from_finding(view: Selection, rows: Rows, on_device: bool, spans: Intervals, own: Track) -> list[Arrow]:
    """From the longest of a finding's (sorted, disjoint) spans on our own track to the one
    of its events that each belongs to.

    That is the first one that overlaps it; else the last one that ended before it in the same
    step, and the arrow leads from there.
    """
    events = _events(view, on_device, rows)
    if not len(events.rows):
        return []
    chosen = spans[longest(spans, MOST)]
    first = np.searchsorted(events.reach, chosen[:, 0], side="right")
    there = np.minimum(first, len(events.rows) - 1)
    overlaps = (first < len(events.rows)) & (events.start[there] < chosen[:, 1])
    at = np.where(overlaps, there, first - 1)
    same_step = _step(view, chosen[:, 0]) == _step(view, events.start[at])
    found = [
        _between((int(start), int(end)), (int(events.start[one]), int(events.end[one])), own, track)
        for (start, end), one in zip(chosen[(at >= 0) & same_step], at[(at >= 0) & same_step], strict=True)
        if (track := _track(view, on_device, int(events.rows[one]))) is not None
    ]
    return [arrow for arrow in found if arrow is not None]


def held_back(view: Selection) -> list[Arrow]:
    """For the longest gaps of the busiest GPU: from the host's event that ran through most of
    it to the GPU's first event after it.

    A gap without an event that runs through half of it has no arrow, nor has one for which the
    ledger blames no event of the host.
    """
    if not view.has_device:
        return []
    here = np.flatnonzero((view.device["device"] == view.devices[0]).to_numpy())
    work = _events(view, True, here)
    holders = _events(view, False, np.flatnonzero(_holding(view)))
    gaps = view.idle[_explained(view)]
    return [
        Arrow(start, end)
        for gap in gaps[longest(gaps, MOST)].tolist()
        if (start := _holder(view, holders, *gap)) is not None
        and (end := _first_work(view, work, gap[1])) is not None
    ]


def longest(spans: Intervals, most: int) -> Rows:
    """So many positions of the longest spans, in the order of the spans."""
    return np.sort(np.argsort(spans[:, 0] - spans[:, 1], kind="stable")[:most])


def _events(view: Selection, on_device: bool, rows: Rows) -> _Events:
    """Those of the rows in whose inside an arrow may end."""
    frame = view.device if on_device else view.host
    start, dur = frame["start_ns"].to_numpy()[rows], frame["dur_ns"].to_numpy()[rows]
    usable = np.flatnonzero(dur >= 2)
    by_start = usable[np.argsort(start[usable], kind="stable")]
    end = start[by_start] + dur[by_start]
    return _Events(start[by_start], end, np.maximum.accumulate(end), rows[by_start])


def _between(span: tuple[int, int], event: tuple[int, int], own: Track, track: Track) -> Arrow | None:
    """Straight across where both last; else from the event, which ended before, to the span.

    None where they touch for too short a time.
    """
    low, high = max(span[0], event[0]), min(span[1], event[1])
    if low < high:
        return (
            Arrow(End(own, _inside(low, high)), End(track, _inside(low, high))) if high - low >= 2 else None
        )
    return Arrow(End(track, event[1] - min((event[1] - event[0]) // 2, INSIDE_NS)), End(own, _inside(*span)))


def _inside(start: int, end: int) -> int:
    return start + min((end - start) // 2, INSIDE_NS)


def _step(view: Selection, moments: np.ndarray) -> np.ndarray:
    """The complete step that each moment lies in or behind."""
    return np.searchsorted(view.windows[:, 0], moments, side="right")


def _track(view: Selection, on_device: bool, row: int) -> Track | None:
    """Where the file shows a row; None where that cannot be told."""
    in_file = view.trace.in_file
    if on_device:
        track = in_file.device.get(
            (int(view.device["device"].to_numpy()[row]), int(view.device["stream"].to_numpy()[row]))
        )
    else:
        track = in_file.host.get(int(view.host["tid"].to_numpy()[row]))
    return None if track is None or None in track else track


# ---- gaps of the GPU


def _holding(view: Selection) -> np.ndarray:
    """Which host events can hold the GPU back: not the ranges that stand for a part of the step."""
    single = np.asarray(view.kind.isin(("op", "runtime", "overhead")))
    return (single | view.loader_next | view.marked(*READ_MARKS)) & dispatching_threads(view)


def _explained(view: Selection) -> np.ndarray:
    """Which gaps the ledger files, for the most part, under what the host's events did."""
    gaps = view.idle
    claimed = [spans for row, spans in view.ledger.rows.items() if row not in UNHELD_ROWS]
    parts = intersect(gaps, union(np.concatenate([NO_INTERVALS, *claimed])))
    slot = np.searchsorted(gaps[:, 0], parts[:, 0], side="right") - 1
    explained_ns = np.bincount(slot, parts[:, 1] - parts[:, 0], minlength=len(gaps))
    return np.asarray(explained_ns >= HELD_SHARE * (gaps[:, 1] - gaps[:, 0]))


def _holder(view: Selection, events: _Events, start: int, end: int) -> End | None:
    """Inside the event that runs through most of the gap, the innermost of equals."""
    first, last = (
        np.searchsorted(events.reach, start, side="right"),
        np.searchsorted(events.start, end, side="left"),
    )
    low, high = np.maximum(events.start[first:last], start), np.minimum(events.end[first:last], end)
    if not len(low) or (high - low).max() < max(2, HELD_SHARE * (end - start)):
        return None
    at = int(np.flatnonzero(high - low == (high - low).max())[-1])
    track = _track(view, False, int(events.rows[first + at]))
    return End(track, _inside(int(low[at]), int(high[at]))) if track is not None else None


def _first_work(view: Selection, events: _Events, start: int) -> End | None:
    """Inside the GPU's event that begins at this moment; None if the gap ended otherwise, with the steps."""
    at = int(np.searchsorted(events.start, start, side="left"))
    if at == len(events.rows) or events.start[at] != start:
        return None
    track = _track(view, True, int(events.rows[at]))
    return End(track, _inside(start, int(events.end[at]))) if track is not None else None
