"""Who is to blame: a selector's events grouped by the user's own line."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np
import pandas as pd

from diagnose.measure.areas.user_code import steps_of
from diagnose.measure.autograd import forward_of
from diagnose.measure.measured import FactSelector, Measured
from diagnose.measure.missing import Missing
from diagnose.measure.selection import Selection, Selector
from diagnose.measure.view import Rows
from diagnose.trace.distinct import alike, codes_of, first_of

TEXTS = ("file", "function", "via")  # that tell lines apart, beside their numbers
MOST = 5  # lines named per finding; further ones cost less than these


@dataclass(frozen=True)
class Culprit:
    """One line of the user's code; ``ms_per_step`` is its part of the finding's time, ms of the plain step.

    ``via``: the library's function that does it on the line's behalf
    (``torchmetrics.metric:compute``); empty if the line does itself.
    """

    file: str
    line: int
    function: str
    calls_per_step: float
    ms_per_step: float
    via: str = ""


def culprits(
    measured: Measured, selector: Selector | FactSelector, ms_per_step: float
) -> tuple[Culprit, ...]:
    """The lines that hold the selector's events, costliest first; none if no line is known."""
    if isinstance(selector, FactSelector):
        return _from_facts(measured, selector, ms_per_step)
    return _from_events(measured, selector, ms_per_step)


def _from_facts(measured: Measured, selector: FactSelector, ms_per_step: float) -> tuple[Culprit, ...]:
    """Together no more than the finding, which takes no more than what it is part of."""
    places = selector.places(measured)
    by_line: dict[tuple[str, int, str], Culprit] = {}
    for one in [] if isinstance(places, Missing) else [place for place in places if place.file]:
        line = (one.file, one.line, one.function)
        so_far = by_line.get(line, Culprit(*line, 0.0, 0.0))
        by_line[line] = Culprit(
            *line, so_far.calls_per_step + one.count_per_step, so_far.ms_per_step + (one.ms_per_step or 0.0)
        )
    whole_ms = sum(culprit.ms_per_step for culprit in by_line.values())
    part = min(1.0, ms_per_step / whole_ms) if whole_ms and ms_per_step else 1.0
    parts = [replace(culprit, ms_per_step=culprit.ms_per_step * part) for culprit in by_line.values()]
    return tuple(sorted(parts, key=lambda culprit: -culprit.ms_per_step)[:MOST])


def _from_events(measured: Measured, selector: Selector, ms_per_step: float) -> tuple[Culprit, ...]:
    located = _located(measured, selector)
    if located is None or not len(located[1].rows):
        return ()
    view, events = located
    number, first = events.by_line()
    _, step = np.unique(events.step, return_inverse=True)
    by_step = np.zeros((len(first), int(step.max()) + 1), np.int64)
    np.add.at(by_step, (number, step), events.dur_ns)
    known = events.line[first] >= 0
    cost_ns = _usual_ns(by_step, view.step_count)
    if not cost_ns[known].any():  # of few steps only
        cost_ns = by_step.sum(axis=1)
    mean_ns = np.where(cost_ns > 0, by_step.sum(axis=1), 0)
    calls = np.bincount(number)
    costliest = [row for row in np.argsort(-cost_ns, kind="stable") if known[row] and cost_ns[row] > 0]
    return tuple(
        Culprit(
            file,
            int(events.line[first[row]]),
            function,
            int(calls[row]) / view.step_count,
            ms_per_step * float(mean_ns[row] / mean_ns.sum()),
            via,
        )
        for row in costliest[:MOST]
        for file, function, via in [events.texts(first[row])]
    )


class _Events(NamedTuple):
    """Of each event: the row of ``table`` whose line it is of, the number of that line (-1 if it is not
    known), its duration and its step.
    """

    table: pd.DataFrame
    rows: Rows
    line: Rows
    dur_ns: Rows
    step: Rows

    def by_line(self) -> tuple[Rows, Rows]:
        """A number for each event, the same for those of a line; and the first event of each number."""
        texts = [codes_of(self.table[name])[self.rows] for name in TEXTS if name in self.table]
        number = alike(self.line, *texts)
        return number, first_of(number)

    def texts(self, event: int) -> tuple[str, str, str]:
        """`TEXTS` of the event's line."""
        row = int(self.rows[event])
        file, function, via = (
            str(self.table[name].iloc[row]) if name in self.table else "" for name in TEXTS
        )
        return file, function, via


def _usual_ns(by_step: np.ndarray, step_count: int) -> np.ndarray:
    """What each line (row) takes if every step is like the median one, of two steps the shorter: what happens
    every tenth step is not to blame for what every step takes. ``by_step``: ns, a column for each step that
    any line has time in.
    """
    steps = np.sort(np.pad(by_step, ((0, 0), (step_count - by_step.shape[1], 0))), axis=1)
    return np.asarray((steps.min(axis=1) if step_count == 2 else np.median(steps, axis=1)) * step_count)


def _located(measured: Measured, selector: Selector) -> tuple[Selection, _Events] | None:
    """The view whose events know their lines, and these: the timeline where marks are exact, else the
    detail phase, else whatever there is.
    """

    def of(view: Selection | None, rows: Rows) -> tuple[Selection, _Events] | None:
        return (view, _events(view, selector, rows)) if view is not None and len(rows) else None

    timeline, detail = measured.timeline, measured.detail
    rows = measured.rows(selector)
    if selector.table == "calls":
        return of(detail, rows)
    marked = (
        timeline is not None
        and selector.table == "host"
        and bool(len(rows))
        and bool(np.all(timeline.kind[rows] == "mark"))
    )
    in_detail = of(detail, selector.rows(detail)) if detail is not None and not marked else None
    if in_detail is not None and (in_detail[1].line >= 0).any():
        return in_detail
    return of(timeline, rows)


def _events(view: Selection, selector: Selector, rows: Rows) -> _Events:
    """What autograd does for an operator is of the line that calls the operator, where that is known."""
    if selector.table == "calls":
        line, dur_ns, start_ns = (
            view.calls[name].to_numpy()[rows] for name in ("line", "dur_ns", "start_ns")
        )
        return _Events(view.calls, rows, line, dur_ns, steps_of(view, start_ns))
    host_rows, on_device = rows, selector.table == "device"
    if on_device:
        op, launch = (view.device[name].to_numpy()[rows] for name in ("op", "launch"))
        host_rows = np.where(op >= 0, op, launch).astype(np.int64)
    if not len(view.host):
        host_rows, rows = rows[:0], rows[:0]
    lines = view.host["line"].to_numpy()
    if len(host_rows):
        forward = np.where(host_rows >= 0, forward_of(view)[host_rows], -1)
        known = (forward >= 0) & (lines[forward] >= 0)
        host_rows = np.where(known, forward, host_rows)
    of_events = view.device if on_device else view.host
    dur_ns, start_ns = (of_events[name].to_numpy()[rows] for name in ("dur_ns", "start_ns"))
    windows = view.windows if on_device else view.host_windows
    located = np.maximum(host_rows, 0)
    return _Events(
        view.host,
        located,
        np.where(host_rows >= 0, lines[located], -1),
        dur_ns,
        np.searchsorted(windows[:, 0], start_ns, side="right") - 1,
    )
