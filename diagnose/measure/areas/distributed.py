"""Distributed training: what the ranks say to each other, and what that costs this one."""

from __future__ import annotations

import itertools
from collections import defaultdict

import numpy as np

from diagnose.measure.areas.backward import ADDS_UP, additions_to_gradients, number_between
from diagnose.measure.areas.user_code import PLACE
from diagnose.measure.collectives import collectives, input_bytes
from diagnose.measure.measured import Measured, Value, metric
from diagnose.measure.missing import NO_GPU, NO_STEPS, Missing, known
from diagnose.measure.selection import Selection, ledger_row, selector
from diagnose.measure.view import NO_INTERVALS, Intervals, Rows, lies_in
from diagnose.measure.work import device_rows, in_rows, outermost
from diagnose.trace.intervals import as_intervals, intersect, subtract, total, union

SYNC_BATCHNORM = r"^(autograd::engine::evaluate_function: )?SyncBatchNorm(Backward)?"
DATA_PARALLEL = r"^DataParallel\.forward$"
DATA_PARALLEL_OP = r"^(Scatter|Gather|Broadcast|ReduceAddCoalesced)(Backward)?$"  # its autograd functions
SENDS_OUT, COLLECTS = r"^(Scatter|Broadcast)$", r"^(Gather|ReduceAddCoalesced)$"
PROCESS_GROUP = r"^(c10d::|record_param_comms$)"
UNUSED_SEARCH = r"reducer::search_unused_parameters$"
GLOO = r"^gloo:"
# in which a thread that waits for gloo is filed: what runs in the others holds the GPU up by itself
GLOO_WAITS = ("exposed_copies", "host_sync", "host_work", "python", "unattributed")
SENDS = r"^(c10d::|nccl:)(send|recv)"
LIKE_SENDS = r"(?i)all_?to_?all|^(c10d::|nccl:)(gather|scatter)"
NO_STATE = Missing("the size of an optimizer's state on the GPU was not recorded")
SMALL_COLLECTIVE_BYTES = 2**20
SMALL_COLLECTIVE_NS = 50_000  # 1 MiB takes this long at 20 GB/s, what PCIe 4 gives; NVLink is faster


def _exposed(view: Selection, rows: Rows) -> Intervals:
    """While the GPU runs these collectives and computes nothing."""
    return in_rows(view, view.device_intervals(rows), "exposed_communication")


@selector(
    "communication",
    "collectives while the GPU computes nothing",
    table="device",
    attributed=ledger_row("exposed_communication"),
)
def _communication(view: Selection) -> Rows:
    return np.flatnonzero(view.device["communication"].to_numpy() & view.device_in_steps)


@selector(
    "sync_batchnorm",
    "collectives of SyncBatchNorm while the GPU computes nothing",
    table="device",
    attributed=_exposed,
)
def _sync_batchnorm(view: Selection) -> Rows:
    return np.intersect1d(_communication(view), device_rows(view, view.name_matches(SYNC_BATCHNORM)))


@selector(
    "small_collectives",
    "small collectives (at most 50 µs, and 1 MiB where known) while the GPU computes nothing, "
    "without those of SyncBatchNorm",
    table="device",
    attributed=_exposed,
)
def _small_collectives(view: Selection) -> Rows:
    """A small one that takes long waits for another rank; sending fewer would not shorten that."""
    rows = np.setdiff1d(_communication(view), _sync_batchnorm(view))
    rows = rows[view.device["dur_ns"].to_numpy()[rows] <= SMALL_COLLECTIVE_NS]
    if not len(rows):
        return rows
    first_input = np.append(input_bytes(view.host), -1)[view.device["op"].to_numpy()[rows]]
    return rows[np.maximum(collectives(view, rows).bytes_in, first_input) <= SMALL_COLLECTIVE_BYTES]


@selector(
    "pipeline_transfers",
    "sends and receives between two ranks while the GPU computes nothing",
    table="device",
    attributed=_exposed,
)
def _pipeline_transfers(view: Selection) -> Rows:
    """All-to-alls run the same kernel: where only its name tells, it counts if the script sends
    and receives and makes none of these.
    """
    rows = _communication(view)
    if not len(rows):
        return rows
    found = collectives(view, rows)
    certain = ~found.guessed | (view.name_matches(SENDS).any() & ~view.name_matches(LIKE_SENDS).any())
    return rows[(found.kind == "send_recv") & certain]


# ---- gradient accumulation


def _accumulating_backwards(view: Selection) -> Intervals:
    """Backwards after which another one adds to the same gradients before any update: these need not be
    summed over the ranks yet.

    Of several models each has a backward of its own, and mostly an optimizer: so backwards count that one
    line calls, more often than optimizers step then, and that find gradients to add to.
    """
    rows = view.named(view.marked("backward", "optimizer") & view.on_training_thread)
    is_backward = np.asarray(view.name[rows] == "backward")
    backwards, updates = rows[is_backward], rows[~is_backward]
    optimizer_count = np.bincount(np.searchsorted(backwards, updates)).max(initial=0)
    turns, lines = np.searchsorted(updates, backwards), view.host[PLACE].iloc[backwards]
    calls = defaultdict(list)
    for call, turn, line in zip(backwards, turns, lines.itertuples(index=False, name=None), strict=True):
        calls[turn, line].append(call)
    finds_gradients = dict(zip(backwards, _find_gradients(view, backwards), strict=True))
    found = [
        call
        for of_line in calls.values()
        if len(of_line) > optimizer_count
        for call, following in itertools.pairwise(of_line)
        if finds_gradients[following]
    ]
    return view.host_intervals(np.array(found, np.int64))


def _find_gradients(view: Selection, backwards: Rows) -> np.ndarray:
    """Which add to gradients that parameters have; all seem to where autograd's nodes are not known."""
    if not view.name_matches(ADDS_UP).any():
        return np.ones(len(backwards), bool)
    start, dur = (view.host[column].to_numpy() for column in ("start_ns", "dur_ns"))
    begin = start[backwards]
    return number_between(start[additions_to_gradients(view)], begin, begin + dur[backwards]) > 0


@selector(
    "accumulation_syncs",
    "all-reduces of a backward that is not the last before the update, while the GPU computes nothing",
    table="device",
    attributed=_exposed,
)
def _accumulation_syncs(view: Selection) -> Rows:
    rows = _communication(view)
    launch = view.device["launch"].to_numpy()[rows]
    rows, launch = rows[launch >= 0], launch[launch >= 0]
    if not len(rows):
        return rows
    started = lies_in(view.host["start_ns"].to_numpy()[launch], _accumulating_backwards(view))
    return rows[started & (collectives(view, rows).kind == "all_reduce")]


# ---- what the wrappers do


def _idle_within(view: Selection, rows: Rows) -> Intervals:
    """The events' own time; with a GPU the part of it in which the GPU computes nothing."""
    own = view.host_intervals(rows)
    if not view.has_device:
        return own
    return intersect(
        own, union(np.concatenate([view.idle, view.ledger.rows.get("exposed_communication", NO_INTERVALS)]))
    )


@selector(
    "unused_search",
    "searches of DistributedDataParallel for parameters without a gradient",
    attributed=_idle_within,
)
def _unused_search(view: Selection) -> Rows:
    return view.named(view.name_matches(UNUSED_SEARCH))


@selector(
    "gloo_on_gpu",
    "collectives of the gloo backend that the GPU, idle or copying, waits for",
    needs="device",
    attributed=lambda view, rows: _gloo_time(view, rows),
)
def _gloo_on_gpu(view: Selection) -> Rows:
    """None where NCCL carries the GPUs' tensors: then gloo is there for objects on the host."""
    return view.named(view.name_matches(GLOO) & ~view.device["communication"].any())


def _gloo_time(view: Selection, rows: Rows) -> Intervals:
    """The part of these collectives in which the GPU computes nothing until they are over, and the host does
    nothing that the ledger blames for that.
    """
    still = subtract(view.span, in_rows(view, view.span, "compute", "exposed_communication"))
    end = (view.host["start_ns"] + view.host["dur_ns"]).to_numpy()[rows]
    at = np.searchsorted(still[:, 1], end)
    waited_for = np.append(still[:, 0], np.iinfo(np.int64).max)[at] < end
    return in_rows(view, view.host_intervals(rows[waited_for]), *GLOO_WAITS)


@selector(
    "data_parallel",
    "copying and collecting by `nn.DataParallel` while the first GPU computes nothing",
    needs="device",
    attributed=lambda view, rows: _data_parallel_time(view, rows),
)
def _data_parallel(view: Selection) -> Rows:
    return outermost(view, view.name_matches(DATA_PARALLEL_OP) & _wraps(view))


def _wraps(view: Selection) -> bool:
    """Whether the trace shows `nn.DataParallel`. Old versions of torch have no range for it, and others have
    functions of some of these names; none has both that send out and those that collect within a process.
    """
    alone = not view.name_matches(PROCESS_GROUP).any()
    sends, collects = (view.name_matches(pattern).any() for pattern in (SENDS_OUT, COLLECTS))
    return bool(view.name_matches(DATA_PARALLEL).any() or (sends and collects and alone))


@metric("data_parallel_in_use", "yes/no", "`nn.DataParallel` wraps the model")
def _data_parallel_in_use(measured: Measured) -> Value | Missing:
    view = measured.timeline
    return NO_STEPS if view is None else _wraps(view)


def _data_parallel_time(view: Selection, rows: Rows) -> Intervals:
    start, dur = view.host["start_ns"].to_numpy()[rows], view.host["dur_ns"].to_numpy()[rows]
    copies = view.device_intervals(device_rows(view, view.is_among(rows)))
    host = intersect(union(as_intervals(start, dur)), view.idle)
    return union(np.concatenate([host, in_rows(view, copies, "exposed_communication", "exposed_copies")]))


# ---- several GPUs of one process


@selector(
    "other_gpus_turns",
    "kernels of other GPUs while the busiest one idles",
    table="device",
    attributed=lambda view, rows: intersect(view.device_intervals(rows), view.idle),
)
def _other_gpus_turns(view: Selection) -> Rows:
    return np.flatnonzero(_computing(view) & (view.device["device"].to_numpy() != view.devices[0]))


def _computing(view: Selection) -> np.ndarray:
    """Which device events are kernels that compute, in complete steps."""
    kernel = (view.device["kind"] == "kernel").to_numpy()
    return np.asarray(kernel & ~view.device["communication"].to_numpy() & view.device_in_steps)


@metric(
    "gpus_at_once_share",
    "share",
    "Share of the time in which any GPU computes that the busiest and another do",
)
def _gpus_at_once_share(measured: Measured) -> Value | Missing:
    view = measured.timeline
    if view is None or not view.step_count:
        return NO_STEPS
    if not view.has_device:
        return NO_GPU
    computing, is_first = _computing(view), view.device["device"].to_numpy() == view.devices[0]
    first, others = (
        view.device_intervals(np.flatnonzero(computing & which)) for which in (is_first, ~is_first)
    )
    either = total(union(np.concatenate([first, others])))
    return total(intersect(first, others)) / either if either else 0.0


# ---- what every rank holds


@metric(
    "ddp_rank_count", "count", "Number of ranks with the same model in DistributedDataParallel (1 without)"
)
def _ddp_rank_count(measured: Measured) -> Value | Missing:
    wrapped, group = known(measured.fact("ddp")), measured.recording.facts.get("process_group") or {}
    return int(group.get("world_size") or 1) if wrapped else 1


@metric("replicated_state_bytes", "bytes", "Optimizer state on the GPU (0 with ZeroRedundancyOptimizer)")
def _replicated_state_bytes(measured: Measured) -> Value | Missing:
    on_gpu = [one for one in known(measured.fact("optimizers")) if str(one.get("device")).startswith("cuda")]
    if any(one.get("class") == "ZeroRedundancyOptimizer" for one in on_gpu):
        return 0
    sizes = [one.get("state_bytes") for one in on_gpu]
    return sum(sizes) if sizes and None not in sizes else NO_STATE


@metric("replicated_state_share", "share", "Share of the GPU's memory that holds this optimizer state")
def _replicated_state_share(measured: Measured) -> Value | Missing:
    capacity = known(measured.fact("cuda_memory", NO_GPU)).get("capacity_bytes")
    return measured.needed("replicated_state_bytes") / capacity if capacity else NO_STATE


@metric("shared_state_gain_bytes", "bytes", "GPU memory that becomes free if the ranks share this state")
def _shared_state_gain_bytes(measured: Measured) -> Value | Missing:
    return measured.needed("replicated_state_bytes") * (1 - 1 / measured.needed("ddp_rank_count"))
