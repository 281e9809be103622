"""Who is to blame: a selector's events grouped by the user's own line."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np
import pandas as pd

from diagnose.measure.areas.user_code import steps_of
from diagnose.measure.autograd import forward_of
from diagnose.measure.measured import FactSelector, Measured
from diagnose.measure.missing import Missing
from diagnose.measure.selection import Selection, Selector
from diagnose.measure.view import Rows

LINE = ["file", "line", "function", "via"]
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
    view, rows = _located(measured, selector)
    if view is None or not len(rows):
        return ()
    events = _places(view, selector, rows)
    if not len(events):
        return ()
    lines = events.groupby(LINE, sort=False, observed=True)
    line, (_, step) = lines.ngroup().to_numpy(), np.unique(events["step"].to_numpy(), return_inverse=True)
    by_step = np.zeros((lines.ngroups, int(step.max()) + 1), np.int64)
    np.add.at(by_step, (line, step), events["dur_ns"].to_numpy())
    places = events.iloc[np.unique(line, return_index=True)[1]]
    known = places["line"].to_numpy() >= 0
    cost_ns = _usual_ns(by_step, view.step_count)
    if not cost_ns[known].any():  # of few steps only
        cost_ns = by_step.sum(axis=1)
    mean_ns = np.where(cost_ns > 0, by_step.sum(axis=1), 0)
    calls = np.bincount(line)
    costliest = [row for row in np.argsort(-cost_ns, kind="stable") if known[row] and cost_ns[row] > 0]
    return tuple(
        Culprit(
            str(place["file"]),
            int(place["line"]),
            str(place["function"]),
            int(calls[row]) / view.step_count,
            ms_per_step * float(mean_ns[row] / mean_ns.sum()),
            str(place["via"]),
        )
        for row in costliest[:MOST]
        for place in [places.iloc[row]]
    )


def _usual_ns(by_step: np.ndarray, step_count: int) -> np.ndarray:
    """What each line (row) takes if every step is like the median one, of two steps the shorter: what happens
    every tenth step is not to blame for what every step takes. ``by_step``: ns, a column for each step that
    any line has time in.
    """
    steps = np.sort(np.pad(by_step, ((0, 0), (step_count - by_step.shape[1], 0))), axis=1)
    return np.asarray((steps.min(axis=1) if step_count == 2 else np.median(steps, axis=1)) * step_count)


def _located(measured: Measured, selector: Selector) -> tuple[Selection | None, Rows]:
    """The view whose events know their lines: the timeline where marks are exact, else the
    detail phase, else whatever there is.
    """
    timeline, detail = measured.timeline, measured.detail
    rows = measured.rows(selector)
    if selector.table == "calls":
        return detail, rows
    marked = (
        timeline is not None
        and selector.table == "host"
        and bool(len(rows))
        and bool(np.all(timeline.kind[rows] == "mark"))
    )
    if detail is None or marked:
        return timeline, rows
    detail_rows = selector.rows(detail)
    has_lines = len(detail_rows) and (_places(detail, selector, detail_rows)["line"] >= 0).any()
    return (detail, detail_rows) if has_lines else (timeline, rows)


def _places(view: Selection, selector: Selector, rows: Rows) -> pd.DataFrame:
    """Per event: its duration, its step's number and the user's line it belongs to (line -1 if unknown). What
    autograd does for an operator is of the line that calls the operator, where that is known.
    """
    if selector.table == "calls":
        calls = view.calls[["file", "line", "function", "dur_ns", "start_ns"]].iloc[rows]
        return calls.assign(via="", step=steps_of(view, calls["start_ns"].to_numpy()))
    on_device = selector.table == "device"
    events = (view.device if on_device else view.host)[["start_ns", "dur_ns"]].iloc[rows]
    host_rows = rows
    if on_device:
        device = view.device[["op", "launch"]].iloc[rows]
        host_rows = np.where(device["op"] >= 0, device["op"], device["launch"]).astype(np.int64)
    if not len(view.host):
        host_rows, events = rows[:0], events[:0]
    if len(host_rows):
        forward = np.where(host_rows >= 0, forward_of(view)[host_rows], -1)
        known = (forward >= 0) & (view.host["line"].to_numpy()[forward] >= 0)
        host_rows = np.where(known, forward, host_rows)
    places = view.host[LINE].iloc[np.maximum(host_rows, 0)].reset_index(drop=True)
    windows = view.windows if on_device else view.host_windows
    return places.assign(
        line=np.where(host_rows >= 0, places["line"], -1),
        dur_ns=events["dur_ns"].to_numpy(),
        step=np.searchsorted(windows[:, 0], events["start_ns"].to_numpy(), side="right") - 1,
    )
