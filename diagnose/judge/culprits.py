"""Who is to blame: a selector's events grouped by the user's own line."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import pandas as pd

from diagnose.measure.measured import FactSelector, Measured, Missing
from diagnose.measure.selection import Selection, Selector
from diagnose.measure.view import Rows

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
        return _from_facts(measured, selector)
    return _from_events(measured, selector, ms_per_step)


def _from_facts(measured: Measured, selector: FactSelector) -> tuple[Culprit, ...]:
    places = selector.places(measured)
    by_line: dict[tuple[str, int, str], Culprit] = {}
    for one in [] if isinstance(places, Missing) else [place for place in places if place.file]:
        line = (one.file, one.line, one.function)
        so_far = by_line.get(line, Culprit(*line, 0.0, 0.0))
        by_line[line] = Culprit(
            *line, so_far.calls_per_step + one.count_per_step, so_far.ms_per_step + (one.ms_per_step or 0.0)
        )
    return tuple(sorted(by_line.values(), key=lambda culprit: -culprit.ms_per_step)[:MOST])


def _from_events(measured: Measured, selector: Selector, ms_per_step: float) -> tuple[Culprit, ...]:
    view, rows = _located(measured, selector)
    if view is None or not len(rows):
        return ()
    events = _places(view, selector, rows)
    whole_ns = max(int(events["dur_ns"].sum()), 1)
    by_line = events[events["line"] >= 0].groupby(
        ["file", "line", "function", "via"], sort=False, observed=True
    )["dur_ns"]
    costliest = by_line.agg(["size", "sum"]).sort_values("sum", ascending=False, kind="stable")[:MOST]
    return tuple(
        Culprit(
            str(file),
            int(line),
            str(function),
            int(calls) / view.step_count,
            ms_per_step * int(dur_ns) / whole_ns,
            str(via),
        )
        for (file, line, function, via), calls, dur_ns in costliest.itertuples()
    )


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
    """Per event: its duration and the user's line it belongs to (line -1 if unknown)."""
    if selector.table == "calls":
        return view.calls[["file", "line", "function", "dur_ns"]].iloc[rows].assign(via="")
    host_rows, dur_ns = (
        rows,
        (view.device if selector.table == "device" else view.host)["dur_ns"].to_numpy()[rows],
    )
    if selector.table == "device":
        device = view.device[["op", "launch"]].iloc[rows]
        host_rows = np.where(device["op"] >= 0, device["op"], device["launch"]).astype(np.int64)
    if not len(view.host):
        host_rows = rows[:0]
        dur_ns = dur_ns[:0]
    places = (
        view.host[["file", "line", "function", "via"]].iloc[np.maximum(host_rows, 0)].reset_index(drop=True)
    )
    places["line"] = np.where(host_rows >= 0, places["line"], -1)
    places["dur_ns"] = dur_ns
    return places
