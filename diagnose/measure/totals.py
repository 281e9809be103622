"""What a step costs by operator on the host and by kernel, copy and set on the GPU."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from diagnose.measure.blocks import sum_of_each
from diagnose.measure.innermost import own_pieces
from diagnose.measure.kernel_names import number_format, short_name, tensor_cores
from diagnose.measure.ledger import BUSY_ROWS, dispatching_threads
from diagnose.measure.measured import Measured
from diagnose.measure.selection import Selection
from diagnose.measure.view import Intervals, Rows
from diagnose.trace.intervals import as_intervals, intersect
from diagnose.trace.nesting import nearest

Kind = Literal["kernel", "communication", "copy", "set"]

MOST = 20
_KINDS: tuple[Kind, ...] = ("communication", "kernel", "set", "copy")
# Which of the `BUSY_ROWS` each of the kinds belongs to.
_BUSY_ROW = np.array([1, 0, 2, 2], np.int8)


@dataclass(frozen=True)
class OperatorTotal:
    """``self_ms``: without the operators that it calls; ms per typical step."""

    name: str
    self_ms: float
    calls_per_step: float


class KernelLabel(NamedTuple):
    """What a row of the table stands for: copies and sets have no format."""

    kind: Kind
    name: str
    number_format: str | None
    tensor_cores: bool | None


@dataclass(frozen=True)
class KernelTotal:
    """Events of the GPU with one label.

    ``rows``: those in steps, in the device table. ``ms``: per typical step; while several run, time counts
    once: in the row of the ledger that it counts in, for what began first. ``mean_ms``: how long one takes.
    """

    label: KernelLabel
    rows: Rows
    ms: float
    count_per_step: float
    mean_ms: float


def operator_totals(measured: Measured) -> list[OperatorTotal]:
    """Operators on the threads that train or launch, costliest first."""
    view = measured.timeline
    if view is None:
        return []
    ops = np.flatnonzero((view.kind == "op") & dispatching_threads(view)).astype(np.int32)
    start = view.host["start_ns"].to_numpy()
    parent = view.host["parent"].to_numpy()
    caller = nearest(np.asarray(view.kind == "op"), parent, parent[ops])
    owner, own = own_pieces(start, start + view.host["dur_ns"].to_numpy(), ops, caller)
    codes = view.name.codes
    ns = (own[:, 1] - own[:, 0]) * view.in_steps[owner]
    own_ns = sum_of_each(codes[owner], ns, len(view.name.categories))
    calls = np.bincount(codes[ops[view.in_steps[ops]]], minlength=len(view.name.categories))
    costliest = [code for code in np.argsort(-own_ns, kind="stable")[:MOST] if own_ns[code] > 0]
    totals = [
        OperatorTotal(
            name=str(view.name.categories[code]),
            self_ms=_host_ms(measured, view, own[codes[owner] == code]),
            calls_per_step=int(calls[code]) / view.step_count,
        )
        for code in costliest
    ]
    return sorted(totals, key=lambda one: -one.self_ms)


def _host_ms(measured: Measured, view: Selection, intervals: Intervals) -> float:
    """Time of the host in ms of the typical step. Beside a GPU, whose time the ledger is of, all of it
    shrinks as the step does.
    """
    inside = intersect(intervals, view.host_span)
    if not view.has_device:
        return measured.timeline_ms(inside)
    recorded_ms = view.host_step_ns / 1e6
    pace = min(1.0, measured.number("step_ms") / recorded_ms) if recorded_ms > 0 else 1.0
    return view.ms_per_step(inside) * pace


def kernel_totals(measured: Measured) -> list[KernelTotal]:
    """What the busiest GPU runs, costliest first."""
    view, ledger = measured.timeline, measured.ledger
    if view is None or ledger is None or not view.has_device:
        return []
    rows = np.flatnonzero(view.device["device"].to_numpy() == view.devices[0])
    kinds, names = _kinds(view, rows), view.device["name"].array
    _, once = counted_once(view, rows)
    pairs = pd.MultiIndex.from_arrays([kinds, names.codes[rows]])
    pair_of_row, distinct = pairs.factorize()
    labels = [_label(_KINDS[kind], str(names.categories[code])) for kind, code in distinct]
    label_of_pair, known = pd.factorize(pd.Series(labels, dtype=object))
    label_of_row = label_of_pair[pair_of_row]
    started = view.device_in_steps[rows]
    once_ns = np.bincount(label_of_row, (once[:, 1] - once[:, 0]) * started, len(known))
    totals = []
    for number in np.argsort(-once_ns, kind="stable")[:MOST]:
        mine = label_of_row == number
        inside, row = rows[mine & started], BUSY_ROWS[_BUSY_ROW[_KINDS.index(known[number].kind)]]
        if len(inside):
            own = intersect(once[mine], ledger.rows[row])
            mean_ms = float(view.device["dur_ns"].to_numpy()[inside].mean()) / 1e6
            per_step = len(inside) / view.step_count
            totals.append(KernelTotal(known[number], inside, measured.timeline_ms(own), per_step, mean_ms))
    return sorted(totals, key=lambda one: -one.ms)


def _kinds(view: Selection, rows: Rows) -> np.ndarray:
    """Of these events of the GPUs, as positions in `_KINDS`."""
    kind = view.device["kind"].array[rows]
    is_of = [view.device["communication"].to_numpy()[rows], kind == "kernel", kind == "memset"]
    return np.select(is_of, [np.int8(position) for position in range(3)], np.int8(3))


def _label(kind: Kind, name: str) -> KernelLabel:
    if kind != "kernel":
        return KernelLabel(kind, short_name(name) if kind == "communication" else name, None, None)
    return KernelLabel(kind, short_name(name), number_format(name), tensor_cores(name))


def counted_once(view: Selection, rows: Rows) -> tuple[np.ndarray, Intervals]:
    """Of each of these events of a GPU (sorted by start) its row of the ledger, as a position in `BUSY_ROWS`,
    and what no earlier event of that row covers.
    """
    start = view.device["start_ns"].to_numpy()[rows]
    once = as_intervals(start, view.device["dur_ns"].to_numpy()[rows])
    ledger_rows = _BUSY_ROW[_kinds(view, rows)]
    for row in range(len(BUSY_ROWS)):
        mine = np.flatnonzero(ledger_rows == row)
        if len(mine):
            covered = np.maximum.accumulate(once[mine, 1])[:-1]
            once[mine[1:], 0] = np.minimum(np.maximum(once[mine[1:], 0], covered), once[mine[1:], 1])
    return ledger_rows, once
