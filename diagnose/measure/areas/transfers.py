"""Transfers: copies between host and GPU, and tensors that are moved or converted again and again."""

from __future__ import annotations

import numpy as np
import pandas as pd

from diagnose.measure.measured import FactPlace, Measured, fact_selector
from diagnose.measure.missing import NO_STEPS, Missing, known
from diagnose.measure.selection import Selection, selector
from diagnose.measure.view import Intervals, Rows, once
from diagnose.measure.work import in_rows
from diagnose.trace.distinct import distinct
from diagnose.trace.intervals import as_intervals, intersect, union

FACTORY_OP = r"^aten::(rand|zeros|ones|full|arange|linspace|eye|normal_?|uniform_?|fill_|zero_|bernoulli_?)"
# among these many operators before a copy, one that fills a tensor of its shape is taken for its origin
OPS_BEFORE_COPY = 6
# The driver sends up to 64 KiB of pageable memory through its command buffer, without waiting (CUDA
# driver API, "API synchronization behavior"); at 16 GB/s such a copy lasts 4 µs, less than the call that
# starts it. Pinning gains nothing there.
SMALL_COPY_BYTES = 64 * 1024
# smaller copies of equal size are usually single numbers that have nothing to do with each other
ROUND_TRIP_BYTES = 1024


def blocking_htod(view: Selection) -> Rows:
    """Waits of the host for a copy to the GPU to finish."""
    return view.syncs_below(np.fromiter(view.copies_by_call, np.int64))


def _copies_and_their_waits(view: Selection, rows: Rows) -> Intervals:
    """The exposed part of the copies, and the idle time of the waits inside the same operators."""
    waits = view.syncs_below(_copying_ops(view, rows))
    exposed = intersect(view.device_intervals(rows), view.ledger.rows["exposed_copies"])
    return union(np.concatenate([exposed, view.sync_idle(waits)]))


def _filling_and_copies(view: Selection, rows: Rows) -> Intervals:
    """The copies with their waits, and the GPU's idle time while the host fills what they copy."""
    fillings = view.outermost_ops(_fillings(view)[1])
    return union(
        np.concatenate(
            [_copies_and_their_waits(view, rows), intersect(view.host_intervals(fillings), view.idle)]
        )
    )


def _copying_ops(view: Selection, rows: Rows) -> Rows:
    """The outermost operators below which these copies were launched."""
    launch = view.device["launch"].to_numpy()[rows]
    return view.outermost_ops(launch[launch >= 0])


def _uploads(view: Selection) -> np.ndarray:
    """Which device events are copies to the GPU inside complete steps."""
    return np.asarray(view.device["direction"] == "HtoD") & view.device_in_steps


def _is_small(view: Selection) -> np.ndarray:
    """Which device events are known to copy little."""
    size = view.device["bytes"].to_numpy()
    return (size >= 0) & (size <= SMALL_COPY_BYTES)


def _uploads_from(view: Selection, memory: str) -> Rows:
    return np.flatnonzero(_uploads(view) & np.asarray(view.device["host_memory"] == memory))


@selector(
    "pageable_htod",
    "copies to the GPU of more than 64 KiB from pageable host memory",
    table="device",
    attributed=_copies_and_their_waits,
)
def _pageable_htod(view: Selection) -> Rows:
    rows = _uploads_from(view, "pageable")
    return rows[~_is_small(view)[rows]]


@selector(
    "pinned_blocking_htod",
    "copies to the GPU from pinned memory that the host waits for",
    table="device",
    attributed=_copies_and_their_waits,
)
def _pinned_blocking_htod(view: Selection) -> Rows:
    launch = view.device["launch"].to_numpy()
    pinned = _uploads_from(view, "pinned")
    pinned = pinned[launch[pinned] >= 0]
    return pinned[view.is_among(view.outermost_ops(view.sync_calls))[view.outermost_ops(launch[pinned])]]


@selector(
    "unoverlapped_htod",
    "non-blocking copies from pinned memory on the kernels' stream while the GPU computes nothing",
    table="device",
    attributed=lambda view, rows: in_rows(view, view.device_intervals(rows), "exposed_copies"),
)
def _unoverlapped_htod(view: Selection) -> Rows:
    rows = np.setdiff1d(_uploads_from(view, "pinned"), _pinned_blocking_htod(view))
    return rows[view.device["stream"].to_numpy()[rows] == _kernel_stream(view)]


def _kernel_stream(view: Selection) -> int:
    """The stream on which kernels run longest; -1 if there are none."""
    kernels = view.device[np.asarray(view.device["kind"] == "kernel") & view.device_in_steps]
    return int(kernels.groupby("stream")["dur_ns"].sum().idxmax()) if len(kernels) else -1


def _small_copies_time(view: Selection, rows: Rows) -> Intervals:
    """While the GPU computes nothing because of the copies: they run, or the host is
    inside the operators that make them.
    """
    calls = view.host_intervals(_copying_ops(view, rows))
    claimed = union(np.concatenate([view.device_intervals(rows), calls, _copies_and_their_waits(view, rows)]))
    return in_rows(view, claimed, "exposed_copies", "host_sync", "launch_bound")


@selector("small_htod", "copies of at most 64 KiB to the GPU", table="device", attributed=_small_copies_time)
def _small_htod(view: Selection) -> Rows:
    return np.flatnonzero(_uploads(view) & _is_small(view))


@selector(
    "built_on_host",
    "copies to the GPU of tensors that were just filled on the host",
    table="device",
    needs="host",
    attributed=_filling_and_copies,
)
def _built_on_host(view: Selection) -> Rows:
    return distinct(_fillings(view)[0])


@once
def _fillings(view: Selection) -> tuple[Rows, Rows]:
    """Copies to the GPU (device rows) of what the host just filled, and the operators that filled it (host
    rows): by the shape; where none is recorded the operator directly before.
    """
    launching = view.outermost_ops(view.device["op"].to_numpy()[view.device["op"].to_numpy() >= 0])
    own = ~view.is_among(launching)[view.outermost_ops(np.arange(len(view.host)))]
    factory = view.name_matches(FACTORY_OP) & own  # a GPU that fills needs no copy
    ops = np.flatnonzero((view.kind == "op") & view.on_training_thread)
    shape = _first_shapes(view.host["shapes"].array)
    callers, copies = (
        np.fromiter(part, np.int64) for part in (view.copies_by_call, view.copies_by_call.values())
    )
    position = np.searchsorted(ops, callers)
    next_to = _next_outermost(view, ops)
    filled_by = np.full(len(callers), -1, np.int64)
    for back in range(1, OPS_BEFORE_COPY + 1):
        there = np.flatnonzero((position >= back) & (filled_by < 0))
        before = ops[position[there] - back]
        same = (shape[before] == shape[callers[there]]) & (shape[before] >= 0)
        fills = factory[before] & (same if view.has_shapes else next_to[before] == callers[there])
        filled_by[there[fills]] = before[fills]
    return copies[filled_by >= 0], filled_by[filled_by >= 0]


def _next_outermost(view: Selection, ops: Rows) -> Rows:
    """For each host event, if one of these operators of one thread, the outermost one that follows the one it
    lies in; -1 for others.
    """
    around = view.outermost_ops(ops)
    outer = distinct(around)
    following = np.append(outer[1:], -1)
    found = np.full(len(view.host), -1, np.int64)
    found[ops] = following[np.searchsorted(outer, around)]
    return found


def _first_shapes(shapes: pd.Categorical) -> np.ndarray:
    """A number for the first input's shape of each event, -1 where there is none."""
    numbers: dict[str, int] = {"": -1}
    of_category = [numbers.setdefault(_first_shape(text), len(numbers)) for text in shapes.categories]
    return np.array(of_category, np.int64)[shapes.codes]


def _first_shape(shapes: str) -> str:
    """The first input's shape in a recorded shapes text such as ``[[64, 3],
    []]``; empty if not recorded or a scalar.
    """
    head = shapes[1:].partition("]")[0].strip()
    return head if head.startswith("[") and head != "[" else ""


# ---- there and back again


def _round_trips(view: Selection) -> tuple[Rows, Rows]:
    """Copies from the GPU, and for each the next copy of as many bytes to it.

    Both are made by the training thread in the same step, and no batch is fetched between them.
    """
    device = view.device
    launch = device["launch"].to_numpy()
    on_training_thread = np.append(view.on_training_thread, False)[launch]
    sized = (device["bytes"].to_numpy() >= ROUND_TRIP_BYTES) & on_training_thread & view.device_in_steps
    down = np.flatnonzero(sized & np.asarray(device["direction"] == "DtoH"))
    up = np.flatnonzero(sized & np.asarray(device["direction"] == "HtoD"))
    size, start = device["bytes"].to_numpy(), device["start_ns"].to_numpy()
    end = start + device["dur_ns"].to_numpy()
    sizes = np.unique(size[up])
    up = up[np.lexsort((start[up], size[up]))]
    down = down[np.isin(size[down], sizes)]
    # Size and time in one number, so that one search finds the next upload of the same size.
    when = int(end.max(initial=0)) + 1
    key_up, key_down = (
        np.searchsorted(sizes, size[rows]) * when + times[rows] for rows, times in ((up, start), (down, end))
    )
    found = np.searchsorted(key_up, key_down, side="left")
    down, back = down[found < len(up)], up[found[found < len(up)]]
    fetches = np.sort(view.host["start_ns"].to_numpy()[view.named(view.loader_next)])
    borders = np.sort(np.concatenate([view.host_windows[:, 0], fetches]))
    together = (size[down] == size[back]) & (_slot(borders, start[down]) == _slot(borders, start[back]))
    return down[together], back[together]


def _slot(borders: np.ndarray, times: np.ndarray) -> np.ndarray:
    return np.searchsorted(borders, times, side="right")


def _round_trip_time(view: Selection, rows: Rows) -> Intervals:
    """From each copy to the host to the end of the copy back, as far as the GPU computes nothing for
    waiting, copying or host operators.
    """
    down, back = _round_trips(view)
    start, end = (
        view.device["start_ns"].to_numpy(),
        (view.device["start_ns"] + view.device["dur_ns"]).to_numpy(),
    )
    spans = as_intervals(start[down], end[back] - start[down])
    return in_rows(view, spans, "exposed_copies", "host_sync", "host_work", "launch_bound")


@selector(
    "round_trips",
    "copies to the host of tensors that return to the GPU in the same step",
    table="device",
    attributed=_round_trip_time,
)
def _round_trips_down(view: Selection) -> Rows:
    return _round_trips(view)[0]


# ---- the same again


@fact_selector(
    "same_tensor_moved",
    "unchanged tensors that are moved to the GPU (on CPU runs: converted) again in every step",
)
def _same_tensor_moved(measured: Measured) -> list[FactPlace] | Missing:
    moved = known(measured.fact("repeated_uploads", NO_STEPS))
    view = measured.timeline
    kind = "device" if view is not None and view.has_device else "dtype"
    return [
        FactPlace(one["file"], one["line"], one["function"], one["per_step"], _cost_ms(measured, one))
        for one in moved
        if one["kind"] == kind
    ]


def _cost_ms(measured: Measured, moved: dict[str, float]) -> float:
    """What one such move costs a step: the call's time; with a GPU at most what copies of
    its size keep the GPU from computing.
    """
    view = measured.timeline
    if view is None or not view.has_device:
        return float(moved["ms_per_step"])
    copies = np.flatnonzero(_uploads(view) & (view.device["bytes"].to_numpy() == moved["bytes"]))
    kept = measured.timeline_ms(_copies_and_their_waits(view, copies))
    return min(float(moved["ms_per_step"]), kept)
