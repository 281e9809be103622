"""The collectives of one rank: which they are, when the rank comes to each, and when it leaves."""

from __future__ import annotations

import re

import numpy as np
import pandas as pd

from diagnose.measure.areas.distributed import input_bytes
from diagnose.measure.ledger import Ledger
from diagnose.measure.selection import Selection
from diagnose.measure.view import Intervals, category_matches

COLUMNS = ("kind", "lane", "step", "arrival_ns", "end_ns", "bytes")
# In this order: an all_reduce is no reduce, an all_gather no gather.
KINDS = (
    ("all_reduce", "allreduce"),
    ("all_gather", "allgather"),
    ("reduce_scatter", "reducescatter"),
    ("all_to_all", "alltoall"),
    ("barrier", "barrier"),
    ("broadcast", "broadcast"),
    ("send_recv", "sendrecv|^send|^recv"),
    ("reduce", "reduce"),
    ("gather", "gather"),
    ("scatter", "scatter"),
)
KERNEL = r"^\w*?ccl(Dev)?Kernel_?"
OPERATOR = r"^(c10d|_c10d_functional|gloo)::?"
GLOO = r"^gloo:"
PUTS_IN_FIRST = r"^record_param_comms$|^gloo:"  # events whose first input is what the rank puts in
TENSOR_LIST = r'^\["TensorList"'


def collective_table(view: Selection, ledger: Ledger) -> pd.DataFrame:
    """A row a collective in the order of launch: `COLUMNS` and one a ledger row.

    ``arrival_ns``: when its kernel starts, or where the GPU carries none, when the backend takes it up on the host. ``lane``: the
    how-manyth of the streams that carry collectives. ``step``: the complete step it is launched in, -1 outside. A ledger row's column:
    ns the rank spends so between the collective before (the beginning of the first step) and this arrival. Times count from the trace's
    start.
    """
    table = _of_device(view) if view.device["communication"].any() else _of_host(view)
    table["step"] = _step_numbers(view, table.pop("launched_ns").to_numpy())
    table = table[list(COLUMNS)]
    way = _ways(table, int(view.windows[0, 0]))
    spent = {row: _covered(intervals, way[:, 1]) - _covered(intervals, way[:, 0]) for row, intervals in ledger.rows.items()}
    return table.assign(**spent)


def _of_device(view: Selection) -> pd.DataFrame:
    rows = np.flatnonzero(view.device["communication"].to_numpy())
    start = view.device["start_ns"].to_numpy()[rows]
    launch, op = view.device["launch"].to_numpy()[rows], view.device["op"].to_numpy()[rows]
    launched = np.where(launch >= 0, view.host["start_ns"].to_numpy()[launch], start) if len(view.host) else start
    order = np.lexsort((start, launched))
    rows, op, start, launched = rows[order], op[order], start[order], launched[order]
    streams = view.device["stream"].to_numpy()[rows]
    first_seen = {stream: lane for lane, stream in enumerate(dict.fromkeys(streams.tolist()))}
    kernels = view.device["name"].array
    kinds = [_operator_kind(view, int(row)) or kind_of(kernels[at]) for row, at in zip(op, rows, strict=True)]
    return pd.DataFrame(
        {
            "kind": kinds,
            "lane": [first_seen[stream] for stream in streams.tolist()],
            "launched_ns": launched,
            "arrival_ns": start,
            "end_ns": start + view.device["dur_ns"].to_numpy()[rows],
            "bytes": np.append(_put_in_bytes(view), -1)[op],
        }
    )


def _of_host(view: Selection) -> pd.DataFrame:
    rows = view.named(view.name_matches(GLOO))
    start = view.host["start_ns"].to_numpy()[rows]
    names = view.host["name"].array
    return pd.DataFrame(
        {
            "kind": [kind_of(names[row]) for row in rows],
            "lane": np.zeros(len(rows), np.int64),
            "launched_ns": start,
            "arrival_ns": start,
            "end_ns": start + view.host["dur_ns"].to_numpy()[rows],
            "bytes": _put_in_bytes(view)[rows],
        }
    )


def _put_in_bytes(view: Selection) -> np.ndarray:
    """What a rank puts into the collective of each host event; -1 where none tells: others name the output first, lists have no type."""
    told = view.name_matches(PUTS_IN_FIRST) & ~category_matches(view.host["dtypes"].array, TENSOR_LIST)
    return np.where(told, input_bytes(view.host), -1)


def _operator_kind(view: Selection, row: int) -> str:
    """By the operator that launched it or one of those around; empty if none says."""
    parent, names = view.host["parent"].to_numpy(), view.host["name"].array
    while row >= 0:
        if re.match(OPERATOR, names[row]):
            return kind_of(names[row])
        row = int(parent[row])
    return ""


def kind_of(name: str) -> str:
    """A collective's kind by the name of its kernel or operator: ``ncclDevKernel_AllReduce_Sum_f32_RING_LL`` is an all_reduce."""
    bare = re.sub(r"[^a-z]", "", re.sub(f"{KERNEL}|{OPERATOR}", "", name).lower())
    return next((kind for kind, pattern in KINDS if re.search(pattern, bare)), "other")


def _step_numbers(view: Selection, times_ns: np.ndarray) -> np.ndarray:
    steps = view.trace.steps[view.trace.steps["complete"]]
    at = np.searchsorted(steps["start_ns"].to_numpy(), times_ns, side="right") - 1
    inside = (at >= 0) & (times_ns < np.append(steps["end_ns"].to_numpy(), 0)[at])
    return np.where(inside, np.append(steps["number"].to_numpy(), -1)[at], -1)


def _ways(table: pd.DataFrame, first_ns: int) -> Intervals:
    """From the end of all collectives before each to its arrival; empty where it comes while another is still under way."""
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
