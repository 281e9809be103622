"""Distributed training: what the ranks say to each other, and what that costs this one."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from diagnose.measure.selection import Selection, ledger_row, selector
from diagnose.measure.sizes import number_counts
from diagnose.measure.view import NO_INTERVALS, Intervals, Rows, lies_in
from diagnose.measure.work import device_rows, in_rows, outermost
from diagnose.trace.intervals import as_intervals, intersect, union

SYNC_BATCHNORM = r"^(autograd::engine::evaluate_function: )?SyncBatchNorm(Backward)?"
DATA_PARALLEL = r"^DataParallel\.forward$"
DATA_PARALLEL_OP = r"^(Scatter|Gather|Broadcast|ReduceAddCoalesced)(Backward)?$"  # its autograd functions
UNUSED_SEARCH = r"reducer::search_unused_parameters$"
GLOO = r"^gloo:"
ALL_REDUCE = r"(?i)all_?reduce"
SMALL_COLLECTIVE_BYTES = 2**20
SMALL_COLLECTIVE_NS = 50_000  # 1 MiB takes this long at 20 GB/s, what PCIe 4 gives; NVLink is faster
ITEM_BYTES = {"float": 4, "int": 4, "c10::Half": 2, "c10::BFloat16": 2, "signed char": 1, "unsigned char": 1, "bool": 1}


def _exposed(view: Selection, rows: Rows) -> Intervals:
    """While the GPU runs these collectives and computes nothing."""
    return in_rows(view, view.device_intervals(rows), "exposed_communication")


@selector("communication", "collectives, while the GPU computes nothing", table="device", stake=ledger_row("exposed_communication"))
def _communication(view: Selection) -> Rows:
    return np.flatnonzero(view.device["communication"].to_numpy() & view.device_in_steps)


@selector("sync_batchnorm", "collectives of SyncBatchNorm, while the GPU computes nothing", table="device", stake=_exposed)
def _sync_batchnorm(view: Selection) -> Rows:
    return np.intersect1d(_communication(view), device_rows(view, view.name_matches(SYNC_BATCHNORM)))


@selector(
    "small_collectives",
    "collectives of at most 50 µs and 1 MiB (where that was recorded) outside SyncBatchNorm, while the GPU computes nothing",
    table="device",
    stake=_exposed,
)
def _small_collectives(view: Selection) -> Rows:
    """A small one that takes long waits for another rank; sending fewer would not shorten that."""
    rows = np.setdiff1d(_communication(view), _sync_batchnorm(view))
    rows = rows[view.device["dur_ns"].to_numpy()[rows] <= SMALL_COLLECTIVE_NS]
    op = view.device["op"].to_numpy()[rows]
    return rows[np.append(input_bytes(view.host), -1)[op] <= SMALL_COLLECTIVE_BYTES]


def input_bytes(host: pd.DataFrame) -> np.ndarray:
    """The size of each event's first input, bytes; -1 where its shape was not recorded. Unknown types count as 8 bytes a number."""
    shapes, dtypes = host["shapes"].array, host["dtypes"].array
    numbers = np.array([number_counts(text)[0] for text in shapes.categories] + [-1], np.int64)[shapes.codes]
    item = np.array([_item_bytes(text) for text in dtypes.categories] + [8], np.int64)[dtypes.codes]
    return np.where(numbers >= 0, numbers * item, -1)


def _item_bytes(dtypes: str) -> int:
    first = dtypes[1:].partition(",")[0].strip(' []"')
    return ITEM_BYTES.get(first, 8)


# ---- gradient accumulation


def _accumulating_backwards(view: Selection) -> Intervals:
    """Backwards that are followed by another backward before any update: their gradients need not be summed over the ranks yet."""
    rows = view.named((view.kind == "mark") & view.name.isin(("backward", "optimizer")) & view.on_training_thread)
    backward = np.asarray(view.name[rows] == "backward")
    return view.host_intervals(rows[:-1][backward[:-1] & backward[1:]])


@selector(
    "accumulation_syncs",
    "all-reduces started by a backward that another backward follows before the update, while the GPU computes nothing",
    table="device",
    stake=_exposed,
)
def _accumulation_syncs(view: Selection) -> Rows:
    rows = _communication(view)
    launch = view.device["launch"].to_numpy()[rows]
    rows, launch = rows[launch >= 0], launch[launch >= 0]
    started = lies_in(view.host["start_ns"].to_numpy()[launch], _accumulating_backwards(view))
    return rows[started & _all_reduces(view, rows)]


def _all_reduces(view: Selection, rows: Rows) -> np.ndarray:
    names = view.device["name"].array
    matching = np.array([bool(re.search(ALL_REDUCE, name)) for name in names.categories] + [False])
    return matching[names.codes[rows]]


# ---- what the wrappers do


def _idle_within(view: Selection, rows: Rows) -> Intervals:
    """The events' own time; with a GPU the part of it in which the GPU computes nothing."""
    own = view.host_intervals(rows)
    if not view.has_device:
        return own
    return intersect(own, union(np.concatenate([view.idle, view.ledger.rows.get("exposed_communication", NO_INTERVALS)])))


@selector("unused_search", "DistributedDataParallel's searches for parameters without a gradient", stake=_idle_within)
def _unused_search(view: Selection) -> Rows:
    return view.named(view.name_matches(UNUSED_SEARCH))


@selector(
    "gloo_on_gpu",
    "collectives of the gloo backend, while the GPU idles or copies",
    needs="device",
    stake=lambda view, rows: _gloo_time(view, rows),
)
def _gloo_on_gpu(view: Selection) -> Rows:
    """None where NCCL carries the GPUs' tensors: then gloo is there for objects on the host."""
    return view.named(view.name_matches(GLOO) & ~view.device["communication"].any())


def _gloo_time(view: Selection, rows: Rows) -> Intervals:
    still = [view.idle, view.ledger.rows.get("exposed_copies", NO_INTERVALS)]
    return intersect(view.host_intervals(rows), union(np.concatenate(still)))


@selector(
    "data_parallel",
    "`nn.DataParallel` spreading model and batch over the GPUs and collecting results, while the first GPU computes nothing",
    needs="device",
    stake=lambda view, rows: _data_parallel_time(view, rows),
)
def _data_parallel(view: Selection) -> Rows:
    wraps = view.name_matches(DATA_PARALLEL).any()  # others have functions of these names too
    return outermost(view, view.name_matches(DATA_PARALLEL_OP) & wraps)


def _data_parallel_time(view: Selection, rows: Rows) -> Intervals:
    start, dur = view.host["start_ns"].to_numpy()[rows], view.host["dur_ns"].to_numpy()[rows]
    copies = view.device_intervals(device_rows(view, view.is_among(rows)))
    host = intersect(union(as_intervals(start, dur)), view.idle)
    return union(np.concatenate([host, in_rows(view, copies, "exposed_communication", "exposed_copies")]))
