"""Selectors: named sets of events. One selector serves a rule's evidence, its culprits and its saving, so they cannot drift apart.

A selector gives rows of the host or the device table, and the time that is at stake because of them. Two metrics follow from each:
``<selector>_ms`` and ``<selector>_share``.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

import numpy as np
import pandas as pd

from diagnose.measure.ledger import (
    LOADER_NEXT,
    OPTIMIZER_STEP,
    READ_MARKS,
    Ledger,
    after_sync,
    dispatching_threads,
    is_sync_call,
    step_ledger,
)
from diagnose.measure.loops import loop_time, row_loops
from diagnose.measure.view import NO_INTERVALS, Intervals, Rows, View, category_matches, started_in
from diagnose.trace.intervals import intersect, union

FACTORY_OP = r"^aten::(rand|zeros|ones|full|arange|linspace|eye|normal_?|uniform_?|fill_|zero_|bernoulli_?)"
MATMUL_OP = r"^aten::(mm|addmm|bmm|baddbmm|matmul|linear|einsum|_?convolution|cudnn_convolution|convolution_(overrideable|backward))$"
OPS_BEFORE_COPY = 6  # among these many operators before a copy, one that fills a tensor of its shape is taken for its origin
REDUCED_PRECISION_KERNEL = r"(?i)tf32|f16|bf16|half|h884|h1688|h16816|s16816|s1688|i8|e4m3|e5m2|f8"


class Selection(View):
    """A view with what several selectors share, worked out once."""

    @cached_property
    def ledger(self) -> Ledger:
        return step_ledger(self)

    @cached_property
    def idle(self) -> Intervals:
        """The busiest device's idle time inside complete steps."""
        busy = ("compute", "exposed_communication", "exposed_copies")
        return union(np.concatenate([part for row, part in self.ledger.rows.items() if row not in busy] or [NO_INTERVALS]))

    @cached_property
    def sync_calls(self) -> Rows:
        return self.named(is_sync_call(self) & dispatching_threads(self))

    @cached_property
    def copies_by_call(self) -> dict[int, int]:
        """Outermost copying op (host row) → the device row of a host-to-device copy launched below it."""
        upload = (self.device["direction"] == "HtoD").to_numpy() & self.device_in_steps
        launch = self.device["launch"].to_numpy()
        rows = np.flatnonzero(upload & (launch >= 0))
        return dict(zip(self.outermost_ops(launch[rows]).tolist(), rows.tolist(), strict=True))

    @cached_property
    def in_library_work(self) -> np.ndarray:
        """Which host events start inside the optimizer's step or the loader's `__next__`: not the script's own doing."""
        marked = (self.kind == "mark") & self.name.isin(("optimizer", "next"))
        inside = marked | self.name_matches(OPTIMIZER_STEP) | self.name_matches(LOADER_NEXT)
        return started_in(self.host, self.host_intervals(np.flatnonzero(inside)))

    @cached_property
    def row_loops(self) -> list[Rows]:
        own = (self.kind == "op") & self.on_training_thread & self.in_steps & ~self.in_library_work
        return row_loops(self, np.flatnonzero(own))

    def syncs_below(self, callers: Rows) -> Rows:
        """The sync calls whose outermost operator is one of these."""
        return self.sync_calls[self.is_among(callers)[self.outermost_ops(self.sync_calls)]]

    def is_among(self, rows: Rows) -> np.ndarray:
        """Which host events are these."""
        among = np.zeros(len(self.host), bool)
        among[rows] = True
        return among

    def sync_idle(self, calls: Rows) -> Intervals:
        """Idle time the ledger files under host sync that follows from these calls."""
        claimed = np.concatenate([self.host_intervals(calls), after_sync(self, self.idle, calls)])
        return intersect(self.ledger.rows.get("host_sync", NO_INTERVALS), claimed)


@dataclass(frozen=True)
class Selector:
    """``rows(view)``: positions in ``table``. ``stake(view, rows)``: the intervals (ns) inside complete steps that depend on them."""

    name: str
    table: Literal["host", "device"]
    meaning: str
    needs: Literal["host", "device", "shapes"]  # what the recording must hold for "none found" to mean something
    rows: Callable[[Selection], Rows]
    stake: Callable[[Selection, Rows], Intervals]


SELECTORS: dict[str, Selector] = {}


def _own_time(view: Selection, rows: Rows) -> Intervals:
    return view.host_intervals(rows)


def _device_time(view: Selection, rows: Rows) -> Intervals:
    """Time in which these device events run and no other kernel does the step's work: as computed by the ledger."""
    shown = [view.ledger.rows[row] for row in ("compute", "exposed_communication", "exposed_copies") if row in view.ledger.rows]
    return intersect(view.device_intervals(rows), np.concatenate(shown or [NO_INTERVALS]))


def ledger_row(row: str) -> Callable[[Selection, Rows], Intervals]:
    """The stake is a row of the ledger, whole."""
    return lambda view, rows: view.ledger.rows.get(row, NO_INTERVALS)


def selector(
    name: str,
    meaning: str,
    *,
    table: Literal["host", "device"] = "host",
    needs: Literal["host", "device", "shapes"] | None = None,
    stake: Callable[[Selection, Rows], Intervals] | None = None,
) -> Callable[[Callable[[Selection], Rows]], Callable[[Selection], Rows]]:
    """Registers a function from a view to rows as the selector of that name."""

    def register(rows: Callable[[Selection], Rows]) -> Callable[[Selection], Rows]:
        default = _own_time if table == "host" else _device_time
        SELECTORS[name] = Selector(name, table, meaning, needs or table, rows, stake or default)
        return rows

    return register


# ---- host


@selector("input_wait", "time of the training thread inside the data loader's `__next__`", stake=ledger_row("input_wait"))
def _input_wait(view: Selection) -> Rows:
    marks = view.named((view.kind == "mark") & (view.name == "next") & view.on_training_thread)
    return marks if len(marks) else view.named(view.name_matches(LOADER_NEXT))


@selector("forward", "outermost calls of the model")
def _forward(view: Selection) -> Rows:
    return view.named((view.kind == "mark") & (view.name == "forward"))


@selector("backward", "calls of backward")
def _backward(view: Selection) -> Rows:
    return view.named((view.kind == "mark") & (view.name == "backward"))


@selector("host_reads", "reads of tensor values by the host (`.item()`, `print`, truth values, `.tolist()` …)")
def _host_reads(view: Selection) -> Rows:
    reads = view.named((view.kind == "mark") & view.name.isin(READ_MARKS))
    return reads[~view.in_library_work[reads]]  # Adam reads its own step counters, samplers their seeds


def _loop_time(view: Selection, rows: Rows) -> Intervals:
    """The loops' whole time; with a GPU, the part of it in which the GPU idles for the host."""
    spans = intersect(loop_time(view, view.row_loops), view.span)
    if not view.has_device:
        return spans
    waiting = [view.ledger.rows.get(row, NO_INTERVALS) for row in ("launch_bound", "python")]
    return intersect(spans, np.concatenate(waiting))


@selector("row_loop", "Python loops that repeat a few operators for one row of a tensor after another", stake=_loop_time)
def _row_loop(view: Selection) -> Rows:
    return np.concatenate([np.empty(0, np.int64), *view.row_loops])


# ---- what the host does to the GPU


@selector(
    "host_sync",
    "runtime calls in which the host waits until the GPU has finished, other than those of copies to the GPU",
    needs="device",
    stake=lambda view, rows: view.sync_idle(rows),
)
def _host_sync(view: Selection) -> Rows:
    return np.setdiff1d(view.sync_calls, _blocking_htod(view))


@selector(
    "blocking_htod", "waits of the host for a copy to the GPU to finish", needs="device", stake=lambda view, rows: view.sync_idle(rows)
)
def _blocking_htod(view: Selection) -> Rows:
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


@selector(
    "launch_bound",
    "the GPU's short idle times while the host prepares and launches operators",
    needs="device",
    stake=ledger_row("launch_bound"),
)
def _launch_bound(view: Selection) -> Rows:
    launches = view.device["launch"].to_numpy()
    return view.named(view.is_among(launches[launches >= 0]))


@selector(
    "optimizer_launches",
    "runtime calls that launch GPU work from inside the optimizer's step",
    needs="device",
    stake=lambda view, rows: intersect(
        view.ledger.rows.get("launch_bound", NO_INTERVALS), view.host_intervals(view.named(view.name_matches(OPTIMIZER_STEP)))
    ),
)
def _optimizer_launches(view: Selection) -> Rows:
    spans = view.host_intervals(view.named(view.name_matches(OPTIMIZER_STEP)))
    launches = _launch_bound(view)
    return launches[started_in(view.host, spans)[launches]]


# ---- kernels


def _kernels_of(view: Selection, op_pattern: str) -> Rows:
    """Kernels whose operator, or one directly around it, matches."""
    matching = view.name_matches(op_pattern)
    op = view.device["op"].to_numpy()
    parent = view.host["parent"].to_numpy()
    rows = np.flatnonzero((op >= 0) & (view.device["kind"] == "kernel").to_numpy() & view.device_in_steps)
    above = parent[op[rows]]
    return rows[matching[op[rows]] | ((above >= 0) & matching[above])]


@selector("kernels", "all kernels", table="device")
def _kernels(view: Selection) -> Rows:
    return np.flatnonzero((view.device["kind"] == "kernel").to_numpy() & view.device_in_steps)


@selector("fp32_matmul", "matrix-multiply and convolution kernels that compute in plain 32-bit floats", table="device", needs="shapes")
def _fp32_matmul(view: Selection) -> Rows:
    rows = _kernels_of(view, MATMUL_OP)
    op = view.device["op"].to_numpy()[rows]
    single = category_matches(view.host["dtypes"].array, r'^\["float"')[op]
    reduced = category_matches(view.device["name"].array, REDUCED_PRECISION_KERNEL)[rows]
    return rows[single & ~reduced]


@selector("conv_bias", "kernels that add a convolution's bias", table="device")
def _conv_bias(view: Selection) -> Rows:
    op, parent = view.device["op"].to_numpy(), view.host["parent"].to_numpy()
    adds, convolution = view.name_matches(r"^aten::add_$"), view.name_matches(r"^aten::(_convolution|cudnn_convolution|convolution)$")
    rows = np.flatnonzero((op >= 0) & view.device_in_steps)
    above = parent[op[rows]]
    return rows[adds[op[rows]] & (above >= 0) & convolution[above]]
