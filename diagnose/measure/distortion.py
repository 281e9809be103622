"""What the profiler adds to a step, and what is left without it.

A profiler costs time for each event it records, and none while the thread sleeps, reads a file or
computes inside one operator. So a plain step is not the recorded one on a smaller scale. Of the timeline,
by the rows of its ledger, ms per step:

1. Each host event of a dispatching thread costs what its kind usually does, the first of its name more
   (it meets cold caches, and its name
   is looked up once), or that times a factor: as far as the recorded step takes longer than
   the plain one, within what is credible. While a GPU is busy, events of the host cost
   nothing: only those in its idle time count.
2. Steps are also disturbed. A row that takes longer than in the detail phase, which is slower, was:
   what is still too long comes off there.
3. What nothing explains is taken from all rows in proportion, but not from time in which the thread
   slept: what computes nothing is not
   slowed. So they always add up to the plain step.

4. A GPU's kernels take as long without a profiler, and so does what it leaves queued: what a
   step is too long comes off the GPU's other idle time, and off its work only where
   that alone is longer than the plain step. Where the host runs ahead in plain steps,
   none of the idle time is its doing.

Rows that were timed without the profiler (`diagnose.measure.parts`) are taken as they are; the
others share what is left of the step.

Each row of the detail phase takes what the timeline says: the excess is what its
events cost, as far as that is credible.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property

import numpy as np
import pandas as pd

from diagnose.measure.ledger import BUSY_ROWS, DEVICE_ROWS, dispatching_threads, turns_ms
from diagnose.measure.selection import Selection
from diagnose.measure.view import Intervals, Rows
from diagnose.trace.intervals import intersect


@dataclass(frozen=True)
class EventCosts:
    """What recording an event usually costs, µs: a Python frame or any other;
    the first of its name that much more.
    """

    frame: float
    other: float
    first_frame: float
    first_other: float
    mark: float = 0.0  # more for a mark of ours, which is made before it begins


# Least absolute deviations over the bundled recordings: `python -m benchmarks overhead`.
TIMELINE_COSTS = EventCosts(frame=0.0, other=0.7, first_frame=0.0, first_other=22.0)
DETAIL_COSTS = EventCosts(frame=1.0, other=0.4, first_frame=3.2, first_other=36.0)
# times that: three quarters of the timelines and nine tenths of the detail
# phase's rows take less (the same command)
MOST = 2.0
# Share of a recorded time that can be its events' cost: what is recorded takes time without a profiler too.
# Where the bundled scripts run nearly nothing but tiny operators, 0.65 (row-loop) and 0.54 (tensor-printed)
# of that time are not gained when the operators go.
MOST_OF_TIME = 0.6


class RecordedEvents:
    """The host events of a view that the profiler took time for, and how much it usually takes."""

    def __init__(self, view: Selection, costs: EventCosts) -> None:
        self.view = view
        counted = np.flatnonzero(dispatching_threads(view) & (view.kind != "overhead"))
        first = ~pd.Series(view.name.codes[counted]).duplicated().to_numpy()
        frame = (view.kind == "python")[counted]
        cost_us = np.where(frame, costs.frame, costs.other) + first * np.where(
            frame, costs.first_frame, costs.first_other
        )
        start_ns = view.host["start_ns"].to_numpy()[counted]  # the table is sorted by start
        marks = (view.kind == "mark")[counted] if costs.mark else np.zeros(len(counted), bool)
        costly_ns = np.concatenate([start_ns, start_ns[marks] - 1])
        order = np.argsort(costly_ns, kind="stable")
        self._start_ns: Rows = costly_ns[order]
        all_us = np.concatenate([cost_us, np.full(int(marks.sum()), costs.mark)])[order]
        # of all events before each
        self._cost_ms = np.concatenate([[0.0], np.cumsum(all_us)]) / 1e3 / view.step_count

    def cost_ms(self, intervals: Intervals) -> float:
        """What those that start in these (disjoint) intervals usually cost, ms per recorded step."""
        first, last = (np.searchsorted(self._start_ns, intervals[:, side]) for side in (0, 1))
        return float((self._cost_ms[last] - self._cost_ms[first]).sum())

    def left_ms(self, intervals: Intervals, part: float) -> float:
        """What these intervals take without that part of the usual cost, ms per recorded step."""
        recorded_ms = self.view.ms_per_step(intervals)
        return (
            recorded_ms - min(part * self.cost_ms(intervals), MOST_OF_TIME * recorded_ms)
            if part
            else recorded_ms
        )

    def slept_ms(self, intervals: Intervals) -> float:
        """What of these intervals the training thread slept, ms per recorded step; 0 where
        that is unknown or a GPU's time counts.
        """
        own_time = None if self.view.has_device else self.view.trace.own_time
        return own_time.slept_in(intervals) / 1e6 / self.view.step_count if own_time is not None else 0.0

    @cached_property
    def rows_ms(self) -> dict[str, float]:
        """The rows of the view's ledger as recorded, ms per recorded step."""
        return {row: self.view.ms_per_step(intervals) for row, intervals in self.view.ledger.rows.items()}

    @cached_property
    def row_costs_ms(self) -> dict[str, float]:
        """What the events in each row usually cost; nothing where the GPU does not wait for the host."""
        return {
            row: 0.0 if row in DEVICE_ROWS else self.cost_ms(intervals)
            for row, intervals in self.view.ledger.rows.items()
        }


@dataclass(frozen=True)
class PlainTime:
    """A view's recorded time in ms of the plain step, by the rows of its ledger.

    ``rows_ms``: each row in the plain step. ``parts``: for each row, what its
    events cost ÷ what they usually cost.
    """

    events: RecordedEvents
    rows_ms: Mapping[str, float]
    parts: Mapping[str, float]

    def ms(self, intervals: Intervals) -> float:
        """Of each row in the plain step, what these intervals are of the recorded row,
        both without the cost of their events.
        """
        return sum(
            self._of_row_ms(row, intersect(intervals, within))
            for row, within in self.events.view.ledger.rows.items()
        )

    def _of_row_ms(self, row: str, intervals: Intervals) -> float:
        whole_ms, slept_ms = self._whole_rows_ms[row]
        if whole_ms <= 0 or not len(intervals):
            return 0.0
        asked_ms, asked_slept_ms = self._left_and_slept_ms(row, intervals)
        if slept_ms >= min(whole_ms, self.rows_ms[row]):  # it slept less in the plain step
            return self.rows_ms[row] * min(1.0, asked_ms / whole_ms)
        pace = (self.rows_ms[row] - slept_ms) / (whole_ms - slept_ms)
        return min(self.rows_ms[row], asked_slept_ms + (asked_ms - asked_slept_ms) * pace)

    @cached_property
    def _whole_rows_ms(self) -> dict[str, tuple[float, float]]:
        rows = self.events.view.ledger.rows
        return {row: self._left_and_slept_ms(row, intervals) for row, intervals in rows.items()}

    def _left_and_slept_ms(self, row: str, intervals: Intervals) -> tuple[float, float]:
        """Of a part of the recorded row, what it takes without the cost of its events; and asleep."""
        left_ms = self.events.left_ms(intervals, self.parts[row])
        return left_ms, min(self.events.slept_ms(intervals), left_ms)


def timeline_time(
    timeline: RecordedEvents,
    detail: RecordedEvents | None,
    plain_step_ms: float,
    timed_ms: Mapping[str, float],
    *,
    host_ahead: bool = False,
) -> PlainTime:
    """The timeline in ms of the plain step. ``timed_ms``: rows that were measured in
    plain steps. ``host_ahead``: in plain steps the host runs ahead of the GPU, so that
    none of its idle time is the host's doing.
    """
    known_ms = {**timed_ms, **_device_ms(timeline, plain_step_ms)}
    wanted_ms = plain_step_ms - sum(known_ms.values())
    if host_ahead and timeline.view.has_device:
        rows_ms = {row: known_ms.get(row, 0.0) if row in DEVICE_ROWS else 0.0 for row in timeline.rows_ms}
        rest_ms = {"unattributed": max(0.0, plain_step_ms - sum(rows_ms.values()))}
        return PlainTime(timeline, rows_ms | rest_ms, dict.fromkeys(rows_ms, 0.0))
    unknown = [row for row in timeline.rows_ms if row not in known_ms]
    part = _part(timeline, unknown, sum(timeline.rows_ms[row] for row in unknown) - wanted_ms)
    parts = {row: 0.0 if row in DEVICE_ROWS else part for row in timeline.rows_ms}
    left = {row: timeline.left_ms(timeline.view.ledger.rows[row], parts[row]) for row in unknown}
    if (
        detail is not None and sum(detail.rows_ms.values()) > plain_step_ms
    ):  # else its steps were not like those
        left = _undisturbed(left, detail.rows_ms, sum(left.values()) - wanted_ms)
    if timed_ms and (
        wanted_ms <= 0 or not any(left.values())
    ):  # what is known of single rows does not fit the step
        return timeline_time(timeline, detail, plain_step_ms, {})
    slept = {row: min(timeline.slept_ms(timeline.view.ledger.rows[row]), left[row]) for row in unknown}
    found = {**_scaled(left, slept, wanted_ms), **known_ms}
    return PlainTime(timeline, _without_turns({row: found[row] for row in parts}, timeline.view), parts)


def _without_turns(rows_ms: dict[str, float], view: Selection) -> dict[str, float]:
    """The rows, where nothing is launch-bound if that is no more than a GPU takes from each event to
    the next: no host can shorten that.
    """
    launch_bound_ms = rows_ms.get("launch_bound", 0.0)
    if not launch_bound_ms or launch_bound_ms > turns_ms(view):
        return rows_ms
    return rows_ms | {"launch_bound": 0.0, "unattributed": rows_ms["unattributed"] + launch_bound_ms}


def _device_ms(timeline: RecordedEvents, plain_step_ms: float) -> dict[str, float]:
    """The rows of a GPU that does not wait for the host, in the plain step: its work as recorded, if that
    fits; longer where the plain step is. So is what it leaves queued, in what the work leaves of the step.
    """
    if not timeline.view.has_device:
        return {}
    recorded_ms = {row: ms for row, ms in timeline.rows_ms.items() if row in BUSY_ROWS}
    busy_ms, step_ms = sum(recorded_ms.values()), sum(timeline.rows_ms.values())
    pace = plain_step_ms / min(max(plain_step_ms, busy_ms), step_ms) if step_ms > 0 else 0.0
    queued_ms = timeline.rows_ms.get("queued", 0.0) * pace
    left_ms = plain_step_ms - busy_ms * pace
    return {row: ms * pace for row, ms in recorded_ms.items()} | {"queued": min(queued_ms, max(0.0, left_ms))}


def _scaled(
    rows_ms: Mapping[str, float], slept_ms: Mapping[str, float], wanted_ms: float
) -> dict[str, float]:
    """The rows made to add up to that: what is slept stays, if that leaves something for the rest."""
    worked_ms, left_ms = sum(rows_ms.values()) - sum(slept_ms.values()), wanted_ms - sum(slept_ms.values())
    if worked_ms <= 0 or left_ms <= 0:
        slept_ms, worked_ms, left_ms = dict.fromkeys(rows_ms, 0.0), sum(rows_ms.values()), wanted_ms
    pace = left_ms / worked_ms if worked_ms > 0 else 0.0
    return {row: slept_ms[row] + (ms - slept_ms[row]) * pace for row, ms in rows_ms.items()}


def _part(events: RecordedEvents, rows: list[str], excess_ms: float) -> float:
    """Up to `MOST`: how many times the usual cost explains the excess of these rows,
    none of which costs most of its time.
    """
    candidates = np.linspace(0.0, MOST, 201)
    usual_ms, most_ms = (np.array([of[row] for row in rows]) for of in (events.row_costs_ms, events.rows_ms))
    explained_ms = np.minimum(candidates[:, None] * usual_ms, MOST_OF_TIME * most_ms).sum(axis=1)
    return float(np.interp(excess_ms, explained_ms, candidates))


def _undisturbed(
    rows_ms: Mapping[str, float], slower_ms: Mapping[str, float], excess_ms: float
) -> dict[str, float]:
    """The rows less what they take beyond those of a slower recording, as
    far as there is an excess to explain.
    """
    beyond = {row: max(0.0, ms - slower_ms.get(row, 0.0)) for row, ms in rows_ms.items()}
    part = min(1.0, max(0.0, excess_ms) / sum(beyond.values())) if any(beyond.values()) else 0.0
    return {row: ms - part * beyond[row] for row, ms in rows_ms.items()}


def detail_time(detail: RecordedEvents, plain_ms: Mapping[str, float]) -> PlainTime:
    """The detail phase in ms of the plain step, given its rows; a row that it has shorter stays as it is."""
    recorded_ms, cost_ms = detail.rows_ms, detail.row_costs_ms
    rows_ms = {row: min(ms, plain_ms.get(row, 0.0)) for row, ms in recorded_ms.items()}
    parts = {
        row: min(MOST, (ms - rows_ms[row]) / cost_ms[row]) if cost_ms[row] > 0 else 0.0
        for row, ms in recorded_ms.items()
    }
    return PlainTime(detail, rows_ms, parts)
