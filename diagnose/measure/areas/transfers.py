"""Transfers: copies between host and GPU."""

from __future__ import annotations

import numpy as np
import pandas as pd

from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import Intervals, Rows
from diagnose.trace.intervals import intersect, union

FACTORY_OP = r"^aten::(rand|zeros|ones|full|arange|linspace|eye|normal_?|uniform_?|fill_|zero_|bernoulli_?)"
OPS_BEFORE_COPY = 6  # among these many operators before a copy, one that fills a tensor of its shape is taken for its origin


@selector(
    "blocking_htod", "waits of the host for a copy to the GPU to finish", needs="device", stake=lambda view, rows: view.sync_idle(rows)
)
def blocking_htod(view: Selection) -> Rows:
    return view.syncs_below(np.fromiter(view.copies_by_call, np.int64))


def _copies_and_their_waits(view: Selection, rows: Rows) -> Intervals:
    """The exposed part of the copies, and the idle time of the waits inside the same operators."""
    launch = view.device["launch"].to_numpy()[rows]
    waits = view.syncs_below(view.outermost_ops(launch[launch >= 0]))
    exposed = intersect(view.device_intervals(rows), view.ledger.rows["exposed_copies"])
    return union(np.concatenate([exposed, view.sync_idle(waits)]))


def _uploads_from(view: Selection, memory: str) -> Rows:
    device = view.device
    chosen = (device["direction"] == "HtoD") & (device["host_memory"] == memory)
    return np.flatnonzero(chosen.to_numpy() & view.device_in_steps)


@selector("pageable_htod", "copies to the GPU from ordinary (pageable) host memory", table="device", stake=_copies_and_their_waits)
def _pageable_htod(view: Selection) -> Rows:
    return _uploads_from(view, "pageable")


@selector(
    "pinned_blocking_htod",
    "copies to the GPU from pinned memory that the host waits for",
    table="device",
    stake=_copies_and_their_waits,
)
def _pinned_blocking_htod(view: Selection) -> Rows:
    launch = view.device["launch"].to_numpy()
    pinned = _uploads_from(view, "pinned")
    pinned = pinned[launch[pinned] >= 0]
    return pinned[view.is_among(view.outermost_ops(view.sync_calls))[view.outermost_ops(launch[pinned])]]


@selector(
    "built_on_host",
    "copies to the GPU of tensors that were only just filled on the host",
    table="device",
    needs="shapes",
    stake=_copies_and_their_waits,
)
def _built_on_host(view: Selection) -> Rows:
    factory = view.name_matches(FACTORY_OP)
    ops = np.flatnonzero((view.kind == "op") & view.on_training_thread)
    shape = _first_shapes(view.host["shapes"].array)
    callers, copies = (np.fromiter(part, np.int64) for part in (view.copies_by_call, view.copies_by_call.values()))
    position = np.searchsorted(ops, callers)
    found = np.zeros(len(callers), bool)
    for back in range(1, OPS_BEFORE_COPY + 1):
        there = np.flatnonzero(position >= back)
        before = ops[position[there] - back]
        found[there] |= factory[before] & (shape[before] == shape[callers[there]]) & (shape[before] >= 0)
    return np.sort(copies[found])


def _first_shapes(shapes: pd.Categorical) -> np.ndarray:
    """A number for the first input's shape of each event, -1 where there is none."""
    numbers: dict[str, int] = {"": -1}
    of_category = [numbers.setdefault(_first_shape(text), len(numbers)) for text in shapes.categories]
    return np.array(of_category, np.int64)[shapes.codes]


def _first_shape(shapes: str) -> str:
    """The first input's shape in a recorded shapes text such as ``[[64, 3], []]``; empty if not recorded or a scalar."""
    head = shapes[1:].partition("]")[0].strip()
    return head if head.startswith("[") and head != "[" else ""
