"""The collectives of one rank: which they are, when the rank comes to each, and when it leaves."""

from __future__ import annotations

import numpy as np
import pandas as pd

from diagnose.measure.collectives import collectives, kind_of, put_in_bytes
from diagnose.measure.ledger import Ledger
from diagnose.measure.selection import Selection
from diagnose.measure.view import Intervals

TEXTS = ("kind", "lane", "group")  # columns of text
COLUMNS = (*TEXTS, "size", "step", "arrival_ns", "end_ns", "exposed_ns", "bytes")
GLOO = r"^gloo:"


def collective_table(view: Selection, ledger: Ledger) -> pd.DataFrame:
    """A row a collective in the order of launch: `COLUMNS` and one a ledger row.

    ``arrival_ns``: when its kernel starts, or where the GPU carries none, when the backend takes it up on the
    host. ``group``: name and ranks of its process group, the same on all of these ranks; empty where the
    trace does not tell. ``lane``: what people call the group, else the how-manyth of the streams that carry
    collectives. ``size``: how many ranks the group has, -1 if unknown. ``step``: the complete step it is
    launched in, -1 outside. ``exposed_ns``: how much of it no computation hides, -1 if nothing tells. A
    ledger row's column: ns the rank spends so between the collective before (the beginning of the first step)
    and this arrival. Times count from the trace's start.
    """
    table = _of_device(view) if view.device["communication"].any() else _of_host(view)
    table["step"] = _step_numbers(view, table.pop("launched_ns").to_numpy())
    table["exposed_ns"] = _exposed_ns(table, ledger)
    table = table[list(COLUMNS)]
    way = _ways(table, int(view.windows[0, 0]))
    spent = {
        row: _covered(intervals, way[:, 1]) - _covered(intervals, way[:, 0])
        for row, intervals in ledger.rows.items()
    }
    return table.assign(**spent)


def _of_device(view: Selection) -> pd.DataFrame:
    rows = np.flatnonzero(view.device["communication"].to_numpy())
    start = view.device["start_ns"].to_numpy()[rows]
    launch = view.device["launch"].to_numpy()[rows]
    launched = (
        np.where(launch >= 0, view.host["start_ns"].to_numpy()[launch], start) if len(view.host) else start
    )
    order = np.lexsort((start, launched))
    rows, start, launched = rows[order], start[order], launched[order]
    streams = view.device["stream"].to_numpy()[rows].tolist()
    first_seen = {stream: str(lane) for lane, stream in enumerate(dict.fromkeys(streams))}
    found = collectives(view, rows)
    return pd.DataFrame(
        {
            "kind": found.kind,
            "lane": np.where(found.group != "", found.lane, [first_seen[stream] for stream in streams]),
            "group": found.group,
            "size": found.size,
            "launched_ns": launched,
            "arrival_ns": start,
            "end_ns": start + view.device["dur_ns"].to_numpy()[rows],
            "bytes": found.bytes_in,
        }
    )


def _of_host(view: Selection) -> pd.DataFrame:
    rows = view.named(view.name_matches(GLOO))
    start = view.host["start_ns"].to_numpy()[rows]
    names = view.host["name"].array
    return pd.DataFrame(
        {
            "kind": [kind_of(names[row]) for row in rows],
            "lane": "0",
            "group": "",
            "size": -1,
            "launched_ns": start,
            "arrival_ns": start,
            "end_ns": start + view.host["dur_ns"].to_numpy()[rows],
            "bytes": put_in_bytes(view)[rows],
        }
    )


def _step_numbers(view: Selection, times_ns: np.ndarray) -> np.ndarray:
    steps = view.trace.steps[view.trace.steps["complete"]]
    at = np.searchsorted(steps["start_ns"].to_numpy(), times_ns, side="right") - 1
    inside = (at >= 0) & (times_ns < np.append(steps["end_ns"].to_numpy(), 0)[at])
    return np.where(inside, np.append(steps["number"].to_numpy(), -1)[at], -1)


def _exposed_ns(table: pd.DataFrame, ledger: Ledger) -> np.ndarray:
    """How much of each collective lies where the GPU does nothing but communicate; -1
    where no such row is in the ledger.
    """
    exposed = ledger.rows.get("exposed_communication")
    if exposed is None:
        return np.full(len(table), -1)
    return _covered(exposed, table["end_ns"].to_numpy()) - _covered(exposed, table["arrival_ns"].to_numpy())


def _ways(table: pd.DataFrame, first_ns: int) -> Intervals:
    """From the end of all collectives before each to its arrival; empty where it
    comes while another is still under way.
    """
    ended = np.maximum.accumulate(np.append(first_ns, table["end_ns"].to_numpy()))[:-1]
    arrival = table["arrival_ns"].to_numpy()
    return np.stack([np.minimum(ended, arrival), arrival], axis=1)


def _covered(intervals: Intervals, times_ns: np.ndarray) -> np.ndarray:
    """How much of disjoint sorted intervals lies before each time, ns."""
    if not len(intervals):
        return np.zeros(len(times_ns), np.int64)
    before = np.concatenate([[0], np.cumsum(intervals[:, 1] - intervals[:, 0])])
    at = np.searchsorted(intervals[:, 0], times_ns, side="right") - 1
    inside = np.clip(times_ns - intervals[at, 0], 0, intervals[at, 1] - intervals[at, 0])
    return np.where(at >= 0, before[at] + inside, 0)
